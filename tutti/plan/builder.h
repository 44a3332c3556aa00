// Appends the steps of one rank to a plan. Operations on empty ranges add no step. Both sides of a message see the same
// empty range, so their plans still match.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/plan/plan.h"
#include "tutti/plan/ranges.h"

namespace tutti::plan {

// A subgroup: the ranks that take part in one algorithm along one dimension of the grid (a one-dimensional Cartesian
// subgroup, as from MPI_Cart_sub).
struct Subgroup {
  std::vector<int> ranks;
  int index = 0;      // index of this rank in `ranks`
  int dimension = 0;  // dimension of the grid whose link connects the ranks

  int size() const { return static_cast<int>(ranks.size()); }
  // Returns the rank `distance` positions after this one; wraps around at the end of the subgroup.
  int neighbour(int distance) const { return ranks[wrap(index + distance)]; }
  int wrap(int i) const { return (i % size() + size()) % size(); }
};

// Treatment of received data. By default it overwrites the target; with `reduce` it is reduced into the target. See
// Step for `arrived_first` and `completes`.
struct ReceiveReduce {
  bool reduce = false;
  bool arrived_first = false;
  bool completes = false;
};

// Writes steps into the plan passed to the constructor, which must outlive the builder. Steps go to the last lane
// begun.
class Builder {
 public:
  explicit Builder(Plan& plan) : plan_(plan) {}

  void begin_lane(const Range& input, const Range& output);
  int lane() const { return static_cast<int>(plan_.lanes.size()) - 1; }

  void copy(const Range& source, const Range& target);
  void send(const Subgroup& subgroup, int to, const Range& source);
  void receive(const Subgroup& subgroup, int from, const Range& target,
               ReceiveReduce reduction = {});
  void exchange(const Subgroup& subgroup, int to, const Range& source, int from,
                const Range& target, ReceiveReduce reduction = {});
  // The same for lists of ranges; each range is one message.
  void exchange(const Subgroup& subgroup, int to, const std::vector<Range>& sources, int from,
                const std::vector<Range>& targets, ReceiveReduce reduction = {});

  void host_barrier(int group);
  void leader_reduce(int group, int root, const Range& source, const Range& target);
  void leader_broadcast(int group, int root, const Range& source, const Range& target);
  void reduce_mapped(int group, const Range& source, const Range& target, std::vector<int> store_to,
                     bool completes);
  void read_mapped(int from, const Range& source, const Range& target);
  void reduce_local(const Range& source, int parts, const Range& target, bool completes);
  // Native collective of the transport over the ranks of `subgroup`. Adds their group to the plan.
  void vendor(Collective collective, const Subgroup& subgroup, const Range& source,
              const Range& target, std::vector<std::int64_t> counts, bool completes);

  // Shared-memory all-reduce over `subgroup`, which must hold all ranks of the plan. Adds a step even if the range is
  // empty.
  void host_all_reduce(const Subgroup& subgroup, const Range& range, HostProtocol protocol,
                       HostProtocol fallback);

  // Returns a new range of scratch memory that no other step uses.
  Range scratch(std::int64_t count);
  // Returns the index of the group with these members in Plan::groups; adds it if it is new.
  int group_of(const std::vector<int>& members);

 private:
  Step& add(StepKind kind, int dimension);
  // Adds a step from one range to another. Returns nullptr and adds nothing if the ranges are empty.
  Step* add(StepKind kind, const Range& source, const Range& target);
  Plan& plan_;
};

}  // namespace tutti::plan
