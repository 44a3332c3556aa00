// Writes the steps of one rank. What has no elements is left out, on both sides alike.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/plan/plan.h"
#include "tutti/plan/ranges.h"

namespace tutti::plan {

// Ranks that work together in one algorithm, and where I stand among them.
struct Line {
  std::vector<int> ranks;
  int index = 0;      // of me
  int dimension = 0;  // of the grid, whose link joins them

  int size() const { return static_cast<int>(ranks.size()); }
  // The rank `distance` places further, round the line.
  int neighbour(int distance) const { return ranks[wrap(index + distance)]; }
  int wrap(int i) const { return (i % size() + size()) % size(); }
};

// What becomes of what arrives: it replaces the target, or is folded into it.
struct Fold {
  bool reduce = false;
  bool arrived_first = false;
  bool completes = false;
};

class Builder {
 public:
  explicit Builder(Plan& plan) : plan_(plan) {}

  void begin_lane(const Range& input, const Range& output);
  int lane() const { return static_cast<int>(plan_.lanes.size()) - 1; }

  void copy(const Range& source, const Range& target);
  void send(const Line& line, int to, const Range& source);
  void receive(const Line& line, int from, const Range& target, Fold fold = {});
  void exchange(const Line& line, int to, const Range& source, int from, const Range& target,
                Fold fold = {});
  // The same for lists of ranges: one message per run.
  void exchange(const Line& line, int to, const std::vector<Range>& sources, int from,
                const std::vector<Range>& targets, Fold fold = {});

  void sync(int group);
  void collect(int group, int root, const Range& source, const Range& target);
  void spread(int group, int root, const Range& source, const Range& target);
  void reduce_mapped(int group, const Range& source, const Range& target, std::vector<int> store_to,
                     bool completes);
  void read_mapped(int from, const Range& source, const Range& target);
  void reduce_local(const Range& source, int parts, const Range& target, bool completes);
  // Over the ranks of the line; adds their group.
  void vendor(Collective collective, const Line& line, const Range& source, const Range& target,
              std::vector<std::int64_t> counts, bool completes);

  // Over the ranks of the line, which are all ranks of the plan; also without elements.
  void host_all_reduce(const Line& line, const Range& range, HostProtocol protocol,
                       HostProtocol fallback);

  // Scratch nobody else uses.
  Range scratch(std::int64_t count);
  // The index in Plan::groups of these members; added when new.
  int group_of(const std::vector<int>& members);

 private:
  Step& add(StepKind kind, int dimension);
  // A step from one range to another; nullptr, and none, when there is nothing in them.
  Step* add(StepKind kind, const Range& source, const Range& target);
  Plan& plan_;
};

}  // namespace tutti::plan
