// The engine from the inside: its two threads and what they share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/work_queue.h"
#include "tutti/fusion/autotuner.h"
#include "tutti/fusion/bucket_queue.h"
#include "tutti/fusion/engine_statistics.h"
#include "tutti/fusion/internal/bucket_runner.h"
#include "tutti/fusion/internal/control_plane.h"
#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

class EngineImpl {
 public:
  EngineImpl(comm::Communicator& communicator, const Options& options);
  ~EngineImpl();

  Ticket submit(Call call);
  comm::Work join(std::shared_ptr<int> last);
  EngineStatistics statistics() const;
  void check() const;
  comm::Communicator& communicator() { return *communicator_; }
  Timeline& timeline() { return timeline_; }

 private:
  struct Entry {
    Call call;
    Signature signature;
    std::shared_ptr<comm::Work::State> work = std::make_shared<comm::Work::State>();
    std::shared_ptr<Gathered> gathered = nullptr;
    std::int64_t submitted_ns = 0;
    bool is_released = false;  // its bucket has come, so it will be run
  };
  // What the root decided, with what this rank has of it: an entry may be missing.
  struct Bucket {
    std::vector<Item> items;
    std::vector<std::shared_ptr<Entry>> entries;
  };

  // The thread that talks. Each step says whether something happened.
  void talk();
  bool take_submitted();
  bool listen();
  bool send_up();
  bool release();  // the root
  void fill_down_message();
  void handle(const std::string& bytes);
  void accept(const DownMessage& down);
  bool is_at_end();
  void watch();  // for failures and stalls
  void report_stalls(std::int64_t now);
  void watch_end(std::int64_t now);
  void rest(bool has_moved);
  // The thread that runs buckets.
  void work();
  void run(const Bucket& bucket);

  // With the mutex held.
  void wake_talker();
  void tell(const std::shared_ptr<Entry>& entry);  // the other ranks, from now on
  void tell_next_of(const std::string& name);
  void complete(const std::shared_ptr<Entry>& entry, const Result& outcome);
  // What is not released fails; when the communicator has failed, all that is not running does.
  void fail(const Result& failure, bool is_final);
  void stop_timeline_at_end();

  const std::unique_ptr<comm::Communicator> communicator_;
  const TreePosition place_;
  const std::int64_t stall_ns_, timeout_ns_;
  // Of the talking thread.
  Negotiator negotiator_;
  ControlPlane plane_;
  BucketQueue queue_;
  DownMessage down_;  // the root's next word
  std::vector<bool> child_has_ended_;
  std::int64_t next_watch_ns_ = 0;
  std::int64_t leaving_since_ns_ = 0;
  std::int64_t next_end_report_ns_ = stall_ns_;
  bool has_timed_out_ = false;
  int idle_turns_ = 0;
  bool has_told_left_ = false, has_said_goodbye_ = false;
  Timeline timeline_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable talk_changed_, work_changed_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  // Of a name that is under way as another kind: each goes when the one before is through.
  std::vector<std::shared_ptr<Entry>> held_back_;
  std::deque<Report> submitted_;
  std::deque<Bucket> buckets_;
  bool is_joining_ = false;  // and the negotiator does not know it yet
  std::shared_ptr<comm::Work::State> join_work_;
  std::shared_ptr<int> last_joined_;
  bool is_leaving_ = false, has_ended_ = false;
  bool has_news_ = false;          // for the talking thread
  Result failure_ = Result::ok();  // of all that comes from now on
  bool has_failed_ = false;        // the communicator too
  int not_released_ = 0;           // entries
  int under_way_ = 0;              // buckets, here
  std::optional<Autotuner> tuner_;
  EngineStatistics statistics_;

  BucketRunner runner_;
  std::thread talker_, worker_;
};

}  // namespace tutti::fusion
