// Negotiation: determines which tensors are ready on all ranks, with messages along a tree. Pure state machine:
// messages go in and come out, so a test can simulate a job with thousands of ranks.
//
// Ready tensors. A rank reports a tensor to its parent once it has submitted the tensor and every child has reported
// it. Per tensor a rank therefore receives at most one report from each of its r children and one release from its
// parent: r + 1 messages for any number of ranks. A message carries all tensors that became ready since the last one.
//
// Release. The root decides on buckets and their order (BucketQueue, RootScheduler) and sends them down the same tree.
// All ranks execute the same buckets in the same order, independent of the order of submission.
//
// Response cache. A name and signature that were released once get an index. It is the same on every rank, because all
// ranks derive it from the same stream of releases. From then on a report is one bit.
//
// Joins, leaves and stalls use the same messages. Joined ranks count as ready for collectives that work without them.
// Each rank adds the ranks missing in its subtree to a late report, so the root can name them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/fusion/message.h"

namespace tutti::fusion {

// Position of a rank in the tree. Rank 0 is the root; the children of r are radix * r + 1, radix * r + 2, ...
struct TreePosition {
  TreePosition(int rank, int size, int radix);
  int rank, size, radix;
  int parent;      // -1 for the root
  int height = 0;  // levels below this rank
  std::vector<int> children;
  std::vector<std::vector<int>> below;  // by child: the child and all ranks below it
};

// A tensor that some ranks have submitted and others have not, for longer than the stall limit.
struct Stall {
  std::string name;
  double seconds = 0;
  std::vector<int> missing;
};

// Negotiation state of one rank. Not thread-safe.
class Negotiator {
 public:
  Negotiator(const TreePosition& position, std::size_t cache_capacity)
      : position_(position), cache_capacity_(cache_capacity) {}

  // Events of this rank. `now`: any clock, in nanoseconds. A name may be submitted again after it has been released.
  void submit(Report report, std::int64_t now);
  void join();
  void leave();

  void receive(std::size_t child, const UpMessage& message, std::int64_t now);
  // Returns the message for the parent. Not for the root.
  UpMessage take_up() { return std::exchange(up_, {}); }
  // Root only: returns the tensors that have become ready on all ranks since the last call.
  std::vector<Report> take_ready() { return std::exchange(ready_, {}); }
  // Root only: returns the form in which the report is sent in a bucket.
  Item item_of(const Report& report) const;
  // Must be called on every rank for every message, in order: expands cached entries and caches new ones.
  void apply(DownMessage& message);

  // Returns tensors that have been incomplete for more than `stall_ns` nanoseconds. Each is reported once, and again
  // whenever the time has doubled. A rank other than the root reports to its parent and returns nothing.
  std::vector<Stall> look_for_stalls(std::int64_t now, std::int64_t stall_ns);
  // Tensors that the root has waited for longer than `limit` nanoseconds.
  std::vector<Stall> overdue(std::int64_t now, std::int64_t limit) const;

  bool all_joined() const { return joined_.size() == static_cast<std::size_t>(position_.size); }
  int last_joined() const { return last_joined_; }
  bool all_left() const { return left_.size() == static_cast<std::size_t>(position_.size); }
  const std::set<int>& left() const { return left_; }
  bool has_joined() const { return joined_.count(position_.rank) > 0; }
  // True if no tensor is partially ready on this rank or below it.
  bool is_quiet() const { return waiting_.empty(); }

 private:
  struct Waiting {
    std::optional<Report> report;  // none: known only from late reports
    bool is_mine = false;
    std::vector<bool> children;
    std::map<std::size_t, std::vector<std::int32_t>> late = {};  // by child
    std::int64_t since = 0;
    std::int64_t reported_wait = 0;  // waiting time at the last report, in nanoseconds
  };
  Waiting& waiting_for(const std::string& name, std::int64_t now);
  static void merge(Waiting& waiting, const Report& report);
  bool is_complete(const Waiting& waiting) const;
  // Forwards the tensor if it is ready in the whole subtree.
  void pass_if_complete(const std::string& name);
  void pass_all_complete();
  bool has_joined(std::size_t child) const;
  void add_joined(int rank);
  std::vector<int> missing(const Waiting& waiting) const;
  void remember(const Report& report);

  const TreePosition position_;
  const std::size_t cache_capacity_;
  std::map<std::string, Waiting> waiting_;
  UpMessage up_;
  std::vector<Report> ready_;
  std::set<int> joined_, left_;
  int last_joined_ = -1;
  std::vector<Report> cache_;
  std::unordered_map<std::string, std::uint32_t> cache_numbers_;
};

}  // namespace tutti::fusion
