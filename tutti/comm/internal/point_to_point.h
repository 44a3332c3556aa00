// Messages between two ranks, apart from the collectives: any number may be under way in any order.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/comm/faults/message_waits.h"
#include "tutti/comm/faults/watchdog.h"
#include "tutti/comm/transport/router.h"
#include "tutti/comm/work.h"
#include "tutti/core/buffer.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

class PointToPoint {
 public:
  // `router` and `watch`, which every message copies, must outlive the point_to_point. `fail` is
  // told of failures and gives back what the communicator has failed with first. `waits` shows
  // peers what this rank is blocked on.
  PointToPoint(Router& router, const Watchdog& watch, int rank, std::shared_ptr<MessageWaits> waits,
               std::function<Result(Result)> fail);
  // Gives up what is under way.
  ~PointToPoint();

  // Every message goes as a header, which says what it is, and the elements. A receiver that
  // expects something else fails with both sides named.
  Work send(ConstBuffer buffer, int peer, int tag);
  Work receive(Buffer buffer, int peer, int tag);
  // From any rank; `*peer`, who it was, is written before the work is complete.
  Work receive_any(Buffer buffer, int* peer, int tag);

 private:
  struct Message;
  struct Head;
  struct Early;
  Work receive(Buffer buffer, int peer, int* source, int tag);
  Work start(std::unique_ptr<Message> message);
  void loop();
  // Whether the i-th of `open` may take what `peer` sends with its tag: no earlier one is to have
  // it.
  bool is_next(std::size_t i, int peer) const;
  Result find_head(std::size_t i);
  bool take_early(Message& message, int peer);
  // Takes the headers that have arrived from the peer on this channel, and gives each message to
  // the first receive of its tag, or keeps it.
  Result sort_heads(int peer, int channel);
  void sort_head(int peer, int channel, const OpRecord& record);
  Result receive_body(Message& message, bool* finished);
  Result advance(std::size_t i, bool* finished);
  Result check_stall(Message& message);
  OpRecord header_of(const ConstBuffer& buffer, int sender, int tag) const;

  Router& router_;
  const Watchdog& watch_;
  const int rank_;
  const std::function<Result(Result)> fail_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::unique_ptr<Message>> started_
      TUTTI_GUARDED_BY(mutex_);                 // not yet taken by the thread
  std::vector<std::unique_ptr<Message>> open_;  // the thread's own, like the next
  // Receives of headers that are posted, by peer and channel. One that a receive from any rank did
  // not need stays, for the next receive from that peer.
  std::map<std::pair<int, int>, std::unique_ptr<Head>> heads_;
  // Messages without a receive yet, whose channel another tag uses too; in the order of arrival.
  std::list<std::unique_ptr<Early>> early_;
  const std::shared_ptr<MessageWaits> waits_;
  bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // started by the first message
};

}  // namespace tutti::comm
