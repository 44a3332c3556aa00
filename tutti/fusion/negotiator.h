// Which tensors are ready on every rank, found out by messages along a tree. Pure: messages go in
// and come out, so a whole job of thousands of ranks is simulated in a test.
//
// A rank reports a tensor to its parent once it has the tensor itself and every child has reported
// it. So a rank receives, per tensor, at most one report from each of its r children and one
// go-ahead from its parent: r + 1 messages, whatever the number of ranks. Messages carry all
// tensors that became ready meanwhile. The root decides on buckets and order; its word goes down
// the same tree, and all ranks run the same buckets in the same order, however their programs
// submitted.
//
// A name and signature that went once get a number, the same on every rank, since all learn it from
// the same stream of go-aheads. From then on a report is one bit.
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

// Where a rank stands in the tree: rank 0 is the root, the children of r are radix * r + 1, ...
struct TreePosition {
  TreePosition(int rank, int size, int radix);
  int rank, size, radix;
  int parent;      // -1: the root
  int height = 0;  // levels below
  std::vector<int> children;
  std::vector<std::vector<int>> below;  // by child: itself and all ranks under it
};

// A tensor that somebody has and somebody lacks for longer than he should.
struct Stall {
  std::string name;
  double seconds = 0;
  std::vector<int> missing;
};

class Negotiator {
 public:
  Negotiator(const TreePosition& place, std::size_t cache_capacity)
      : place_(place), cache_capacity_(cache_capacity) {}

  // What this rank does. `now`: any clock, in nanoseconds. A name may be submitted again once it
  // has come down.
  void submit(Report report, std::int64_t now);
  void join();
  void leave();

  void receive(std::size_t child, const UpMessage& message, std::int64_t now);
  // What the parent must hear. Not for the root.
  UpMessage take_up() { return std::exchange(up_, {}); }
  // The root only: what has become ready everywhere since the last call.
  std::vector<Report> take_ready() { return std::exchange(ready_, {}); }
  // The root only: how the report travels in a bucket.
  Item item_of(const Report& report) const;
  // On every rank, in the order of the stream: writes out what the cache knows, remembers the rest.
  void apply(DownMessage& message);

  // Tensors incomplete for longer than `stall_handler` nanoseconds, each told once, then again when
  // the time has doubled. A rank that is not the root tells its parent and gives back nothing.
  std::vector<Stall> look_for_stalls(std::int64_t now, std::int64_t stall_handler);
  // Tensors that the root has waited for longer than `limit` nanoseconds.
  std::vector<Stall> overdue(std::int64_t now, std::int64_t limit) const;

  bool all_joined() const { return joined_.size() == static_cast<std::size_t>(place_.size); }
  int last_joined() const { return last_joined_; }
  bool all_left() const { return left_.size() == static_cast<std::size_t>(place_.size); }
  const std::set<int>& left() const { return left_; }
  bool has_joined() const { return joined_.count(place_.rank) > 0; }
  // Nothing is half ready here or below.
  bool is_quiet() const { return waiting_.empty(); }

 private:
  struct Waiting {
    std::optional<Report> report;  // none: only heard of as late
    bool is_mine = false;
    std::vector<bool> children;
    std::map<std::size_t, std::vector<std::int32_t>> late = {};  // by child
    std::int64_t since = 0;
    std::int64_t told = 0;  // after so many nanoseconds
  };
  Waiting& waiting_for(const std::string& name, std::int64_t now);
  static void merge(Waiting& waiting, const Report& report);
  bool is_complete(const Waiting& waiting) const;
  // Passes the tensor on if nobody lacks it.
  void pass_if_complete(const std::string& name);
  void pass_all_complete();
  bool has_joined(std::size_t child) const;
  void add_joined(int rank);
  std::vector<int> missing(const Waiting& waiting) const;
  void remember(const Report& report);

  const TreePosition place_;
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
