#include "tutti/plan/builder.h"

#include <algorithm>
#include <utility>

namespace tutti::plan {

Step& Builder::add(StepKind kind, int dimension) {
  Step& step = plan_.lanes.back().steps.emplace_back();
  step.kind = kind;
  step.dimension = dimension;
  return step;
}

void Builder::begin_lane(const Range& input, const Range& output) {
  Lane& lane = plan_.lanes.emplace_back();
  lane.input = in(Space::kInput, input);
  lane.output = in(Space::kOutput, output);
}

Step* Builder::add(StepKind kind, const Range& source, const Range& target) {
  if (source.count == 0 || target.count == 0) return nullptr;
  Step& step = add(kind, 0);
  step.source = source;
  step.target = target;
  return &step;
}

void Builder::copy(const Range& source, const Range& target) {
  add(StepKind::kCopy, source, target);
}

void Builder::send(const Subgroup& subgroup, int to, const Range& source) {
  exchange(subgroup, to, source, -1, {});
}

void Builder::receive(const Subgroup& subgroup, int from, const Range& target,
                      ReceiveReduce reduction) {
  exchange(subgroup, -1, {}, from, target, reduction);
}

void Builder::exchange(const Subgroup& subgroup, int to, const Range& source, int from,
                       const Range& target, ReceiveReduce reduction) {
  if (source.count == 0) to = -1;
  if (target.count == 0) from = -1;
  if (to < 0 && from < 0) return;
  Step& step = add(StepKind::kExchange, subgroup.dimension);
  step.send_to = to;
  step.source = source;
  step.receive_from = from;
  step.target = target;
  if (from < 0) return;
  step.reduce = reduction.reduce;
  step.arrived_first = reduction.arrived_first;
  step.completes = reduction.completes;
}

void Builder::exchange(const Subgroup& subgroup, int to, const std::vector<Range>& sources,
                       int from, const std::vector<Range>& targets, ReceiveReduce reduction) {
  for (std::size_t i = 0; i < std::max(sources.size(), targets.size()); ++i) {
    exchange(subgroup, to, i < sources.size() ? sources[i] : Range{}, from,
             i < targets.size() ? targets[i] : Range{}, reduction);
  }
}

void Builder::host_barrier(int group) {
  add(StepKind::kHostBarrier, 0).group = group;
}

void Builder::leader_reduce(int group, int root, const Range& source, const Range& target) {
  Step* const step = add(StepKind::kLeaderReduce, source, target);
  if (!step) return;
  step->reduce = true;
  step->group = group;
  step->receive_from = root;
}

void Builder::leader_broadcast(int group, int root, const Range& source, const Range& target) {
  Step* const step = add(StepKind::kLeaderBroadcast, source, target);
  if (!step) return;
  step->group = group;
  step->receive_from = root;
}

void Builder::reduce_mapped(int group, const Range& source, const Range& target,
                            std::vector<int> store_to, bool completes) {
  Step* const step = add(StepKind::kReduceMapped, source, target);
  if (!step) return;
  step->reduce = true;
  step->completes = completes;
  step->group = group;
  step->store_to = std::move(store_to);
}

void Builder::read_mapped(int from, const Range& source, const Range& target) {
  if (Step* const step = add(StepKind::kReadMapped, source, target)) step->receive_from = from;
}

void Builder::reduce_local(const Range& source, int parts, const Range& target, bool completes) {
  Step* const step = add(StepKind::kReduceLocal, source, target);
  if (!step) return;
  step->reduce = true;
  step->completes = completes;
  step->parts = parts;
}

void Builder::vendor(Collective collective, const Subgroup& subgroup, const Range& source,
                     const Range& target, std::vector<std::int64_t> counts, bool completes) {
  Step& step = add(StepKind::kVendor, subgroup.dimension);
  step.reduce = collective != Collective::kAllGather;
  step.completes = completes;
  step.group = group_of(subgroup.ranks);
  step.source = source;
  step.target = target;
  step.vendor_collective = collective;
  step.counts = std::move(counts);
}

void Builder::host_all_reduce(const Subgroup& subgroup, const Range& range, HostProtocol protocol,
                              HostProtocol fallback) {
  Step& step = add(StepKind::kHostAllReduce, subgroup.dimension);
  step.reduce = step.completes = true;
  step.group = group_of(subgroup.ranks);
  step.source = in(Space::kInput, range);
  step.target = in(Space::kOutput, range);
  step.protocol = protocol;
  step.fallback = fallback;
}

Range Builder::scratch(std::int64_t count) {
  constexpr std::int64_t kUnit = 64;  // elements: full cache lines for every type
  const Range range{Space::kScratch, plan_.scratch_count, count};
  plan_.scratch_count += (count + kUnit - 1) / kUnit * kUnit;
  return range;
}

int Builder::group_of(const std::vector<int>& members) {
  const auto found = std::find(plan_.groups.begin(), plan_.groups.end(), members);
  const int index = static_cast<int>(found - plan_.groups.begin());
  if (found == plan_.groups.end()) plan_.groups.push_back(members);
  return index;
}

}  // namespace tutti::plan
