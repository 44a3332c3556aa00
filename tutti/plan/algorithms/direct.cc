// Direct: collectives in shared memory without messages. Each rank reads and writes the buffers of the others.
//
// L ranks of one host that map each other's buffers. Every form begins with a host barrier (all inputs are ready, all
// outputs may be written) and ends with one (all accesses are complete).
//
// - all_reduce. At the start each rank holds its vector of S bytes, split into L slices. Rank i owns slice i: it
//   reduces the slice from all L inputs and stores the result into all L outputs. Each input is read once and each
//   output written once: 2 L S bytes of memory traffic, which is optimal, or 2 S per rank; 2 host barriers. Also works
//   in place, because no other rank reads slice i.
// - reduce. The same, stored into the root's output only.
// - reduce_scatter. Rank i reduces its piece from all inputs into its output.
// - broadcast, scatter, all_gather, gather, all_to_all. Each rank copies the data it needs from the inputs of its
//   peers. It starts with itself and continues in subgroup order, so the readers do not all access the same rank.
// - barrier. One host barrier.
#include <numeric>

#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

bool direct_supports(Collective collective, const Shape& shape) {
  if (collective == Collective::kSendReceive) return false;
  return shape.mapped && (collective != Collective::kAllToAll || shape.uniform);
}

Cost direct_cost(Collective collective, int ranks, double bytes, int lanes) {
  const double syncs = 2.0 * lanes;
  switch (collective) {
    case Collective::kBarrier: return {1, 0};
    case Collective::kReduceScatter:
    case Collective::kReduce: return {syncs, bytes + bytes / ranks};
    default: return {syncs, 2 * bytes};
  }
}

std::int64_t offset_of(const std::vector<std::int64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
}

// The steps of rank `me` of the group `members` between the two host barriers.
struct Direct {
  Builder& builder;
  const Request& request;
  const Range& range;
  const std::vector<int>& members;
  int me;
  int group;

  void reduce_slice(int index, const std::vector<int>& store_to) const {
    const Range slice =
        split(range, static_cast<int>(members.size()), index, request.element_bytes);
    builder.reduce_mapped(group, in(Space::kInput, slice), in(Space::kOutput, slice), store_to,
                          true);
  }
  void reduce_piece() const {
    const std::int64_t count = request.counts[me];
    builder.reduce_mapped(group, {Space::kInput, offset_of(request.counts, me), count},
                          {Space::kOutput, 0, count}, {me}, true);
  }
  // Copies `count` elements at offset `begin` of the input of `from` to offset `target` of this rank's output.
  void read(int from, std::int64_t begin, std::int64_t target, std::int64_t count) const {
    const Range source{Space::kInput, begin, count};
    const Range result{Space::kOutput, target, count};
    if (from == me) return builder.copy(source, result);
    builder.read_mapped(from, source, result);
  }
  void read_pieces(int index) const {
    const int size = static_cast<int>(members.size());
    for (int t = 0; t < size; ++t) {
      const int from = members[(index + t) % size];
      if (request.collective == Collective::kAllToAll) {
        read(from, me * request.count, from * request.count, request.count);
      } else {
        read(from, 0, offset_of(request.counts, from), request.counts[from]);
      }
    }
  }
};

void build_direct(Builder& builder, const SubgroupTask& task) {
  const Subgroup& subgroup = task.subgroup;
  const int me = subgroup.ranks[subgroup.index];
  const int group = builder.group_of(subgroup.ranks);
  const Direct direct{builder, task.request, task.range, subgroup.ranks, me, group};
  const int root = subgroup.ranks[task.root];
  builder.host_barrier(group);
  switch (task.collective) {
    case Collective::kAllReduce: direct.reduce_slice(subgroup.index, subgroup.ranks); break;
    case Collective::kReduce: direct.reduce_slice(subgroup.index, {root}); break;
    case Collective::kReduceScatter: direct.reduce_piece(); break;
    case Collective::kBroadcast:
      direct.read(root, task.range.begin, task.range.begin, task.range.count);
      break;
    case Collective::kScatter:
      direct.read(root, offset_of(task.request.counts, me), 0, task.request.counts[me]);
      break;
    case Collective::kGather:
      if (me == root) direct.read_pieces(subgroup.index);
      break;
    case Collective::kAllGather:
    case Collective::kAllToAll: direct.read_pieces(subgroup.index); break;
    default: return;  // barrier: one host barrier is enough
  }
  builder.host_barrier(group);
}

}  // namespace

Algorithm direct() {
  return {.name = "direct",
          .description =
              "shared memory: the owner of a slice reduces it from all inputs and stores it to all "
              "outputs",
          .letters = "bn",
          .supports = direct_supports,
          .cost = direct_cost,
          .build = build_direct,
          .is_mapped = true};
}

}  // namespace tutti::plan
