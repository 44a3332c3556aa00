// Tensors submitted by this rank, from `submit` until their work completes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/work_queue.h"
#include "tutti/core/mutex.h"
#include "tutti/fusion/call.h"
#include "tutti/fusion/internal/wakeup.h"
#include "tutti/fusion/timeline.h"

namespace tutti::fusion {

struct PendingTensor {
  Call call;
  Signature signature;
  std::shared_ptr<comm::Work::State> work = std::make_shared<comm::Work::State>();
  std::shared_ptr<Gathered> gathered = nullptr;
  std::int64_t submitted_ns = 0;
  bool is_released = false;  // the root has released its bucket, so it will be executed
};

// A released bucket with this rank's tensors; null entries if the rank has joined.
struct Bucket {
  std::vector<Item> items;
  std::vector<std::shared_ptr<PendingTensor>> tensors;
};

// Thread-safe.
//
// States of a tensor on this rank:
//
//   held back   a tensor of the same name but another kind is in flight; reported when that one completes
//   reported    submitted and passed to the negotiation, waiting until all ranks have submitted it
//   released    in a bucket that the root has released: it will be executed, even if another rank leaves
//   complete    executed or failed; the name may be submitted again
//
// A failure of the engine completes tensors that are held back or reported at once. Released tensors are executed, or
// fail when their bucket is run.
class PendingTensors {
 public:
  // `wakeup` is signalled when the coordinator has work to do. `wakeup` and `timeline` must outlive this object.
  PendingTensors(int ranks, Wakeup& wakeup, Timeline& timeline)
      : ranks_(ranks), wakeup_(wakeup), timeline_(timeline) {}

  // See Engine::submit and Engine::join.
  Ticket submit(Call call);
  comm::Work join(std::shared_ptr<int> last);
  // Starts the shutdown of this rank.
  void leave();

  // Changes since the last call, for the negotiation.
  struct Submissions {
    std::deque<Report> reports;
    bool is_joining = false, is_leaving = false;
  };
  Submissions take_submissions();
  // True if this rank waits for other ranks. Released tensors wait only for execution.
  bool needs_negotiation() const;

  // Applies a decision of the root: returns the buckets to execute and completes tensors that failed.
  std::vector<Bucket> release(const DownMessage& down);
  void complete(const std::shared_ptr<PendingTensor>& tensor, const Result& outcome);
  // Fails all tensors that are not released, and every later call. `is_final`: the communicator has failed, so released
  // tensors fail too.
  void fail(const Result& failure, bool is_final);
  // The failure of the communicator, or ok.
  Result final_failure() const;
  // Throws the failure of later calls, if any.
  void check() const;

 private:
  void report(const std::shared_ptr<PendingTensor>& tensor) TUTTI_REQUIRES(mutex_);
  void report_next_of(const std::string& name) TUTTI_REQUIRES(mutex_);
  std::shared_ptr<PendingTensor> find(const std::string& name) const TUTTI_REQUIRES(mutex_);
  Bucket release_bucket(const std::vector<Item>& items) TUTTI_REQUIRES(mutex_);

  struct Join {
    std::shared_ptr<comm::Work::State> work;  // null: this rank has not joined
    std::shared_ptr<int> last;
    bool is_new = false;  // not passed to the negotiator yet
  };

  const int ranks_;
  Wakeup& wakeup_;
  Timeline& timeline_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<PendingTensor>> tensors_ TUTTI_GUARDED_BY(mutex_);
  // Tensors whose name is in flight as another kind. Each is reported when the previous one completes.
  std::vector<std::shared_ptr<PendingTensor>> held_back_ TUTTI_GUARDED_BY(mutex_);
  std::deque<Report> reports_ TUTTI_GUARDED_BY(mutex_);
  Join join_ TUTTI_GUARDED_BY(mutex_);
  bool is_leaving_ TUTTI_GUARDED_BY(mutex_) = false;
  Result failure_ TUTTI_GUARDED_BY(mutex_) = Result::ok();
  bool is_final_ TUTTI_GUARDED_BY(mutex_) = false;  // the communicator has failed
  int not_released_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::fusion
