// Point-to-point messages. Any number may be in flight, and they complete in any order.
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
  // `router` and `watch`, which is copied for every message, must outlive this object. `fail` is called with a failure
  // and returns the first failure of the communicator. `waits` publishes the message that blocks this rank.
  PointToPoint(Router& router, const Watchdog& watch, int rank, std::shared_ptr<MessageWaits> waits,
               std::function<Result(Result)> fail);
  // Cancels messages in flight.
  ~PointToPoint();

  // Every message is sent as a header that describes it, followed by its elements. A receiver that expects a different
  // message fails with an error that names both sides.
  Work send(ConstBuffer buffer, int peer, int tag);
  Work receive(Buffer buffer, int peer, int tag);
  // Receives from any rank; `*peer` is set to the sender before the work completes.
  Work receive_any(Buffer buffer, int* peer, int tag);

 private:
  struct Message;
  struct PostedHeader;
  struct Unexpected;
  Work receive(Buffer buffer, int peer, int* source, int tag);
  Work start(std::unique_ptr<Message> message);
  void loop();
  // True if receive `i` of `open_` is the first one that matches a message of `peer` with its tag.
  bool is_next(std::size_t i, int peer) const;
  Result find_header(std::size_t i);
  bool take_unexpected(Message& message, int peer);
  // Takes the headers that have arrived from the peer on this channel. Passes each message to the first receive with
  // its tag, or queues it.
  Result dispatch_headers(int peer, int channel);
  void dispatch_header(int peer, int channel, const OpRecord& record);
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
  std::vector<std::unique_ptr<Message>> open_;  // used only by the thread, like the next members
  // Posted receives of headers, by peer and channel. A receive that a receive_any did not need stays posted for the
  // next receive from that peer.
  std::map<std::pair<int, int>, std::unique_ptr<PostedHeader>> posted_headers_;
  // Unexpected messages on channels that several tags share, in order of arrival.
  std::list<std::unique_ptr<Unexpected>> unexpected_;
  const std::shared_ptr<MessageWaits> waits_;
  bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // started with the first message
};

}  // namespace tutti::comm
