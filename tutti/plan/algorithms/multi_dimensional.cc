// Multi-dimensional decomposition (Cho et al. 2017, "PowerAI DDL"; 2019, "BlueConnect"): each dimension of the machine
// uses the algorithm that suits its link.
//
// all_reduce of S bytes over n_0 x n_1 x ... ranks. At the start each rank holds its vector.
// 1. reduce_scatter along dimension 0: rank i of each subgroup holds the reduction of piece i over its subgroup, S/n_0
//    bytes. Then along dimension 1 on that piece, and so on.
// 2. all_reduce along the last dimension on the remaining piece, S/(n_0 n_1 ...) bytes.
// 3. all_gather back along the dimensions in reverse order: each rank holds the result.
// With rings this takes the sum of 2(n_d - 1) steps (4x8x8: 34, instead of 510 for one ring), and the slow dimensions
// carry only the remaining piece. All subgroups of a dimension work concurrently.
//
// Hosts x local ranks, `direct` first: L local ranks, G rails (by default as many as the smallest host has ranks). The
// vector is split into G slices; slice g belongs to the g-th rank of each host.
// 1. Host barrier. All L ranks share the reduction of all slices, from all local inputs into the output of the slice's
//    owner.
// 2. If L > G: host barrier. If L = G each rank reduces the slice it owns, and no host barrier is needed.
// 3. The owners all_reduce their slices between hosts, one rail per slice.
// 4. Host barrier. Each rank copies the other slices from their owners. Host barrier.
// Between two host barriers each element is accessed by one rank only, so the algorithm works in place. A host sends as
// much as a single rank would: 2(H-1)/H S bytes for H hosts, for any number of local ranks.
//
// Small vectors with one rail and one lane: the first rank of each host (the node leader) collects and reduces the
// vectors of its host from the shared slots, all_reduces the result between hosts and publishes it to its host. The
// leader waits for its local ranks and they wait for the leader; there is no other synchronisation. A rank waits at
// most twice instead of four times, and never for another rank to finish reading.
//
// Lanes are chunks of the vector that go through all of these steps. While one lane is on the network,
// another is reduced in memory.
#include "tutti/plan/algorithms/multi_dimensional.h"

#include <algorithm>

namespace tutti::plan {
namespace {

Range slice_of(const LaneTask& task, int rail) {
  return split(task.range, task.layout.rails(), rail, task.request.element_bytes);
}

void host_barrier(const LaneTask& task) {
  if (task.group >= 0) task.builder.host_barrier(task.group);
}

// Reduces this rank's share of the lane into `space` of the slice owners. Shares are smaller than slices if a host has
// more ranks than rails.
void reduce_share(const LaneTask& task, Space space) {
  const auto block = task.layout.my_block();
  const Range share = split(task.range, static_cast<int>(block.size()),
                            task.layout.index_in_block(), task.request.element_bytes);
  for (int rail = 0; rail < task.layout.rails(); ++rail) {
    const Range slice = slice_of(task, rail);
    const std::int64_t begin = std::max(share.begin, slice.begin);
    const std::int64_t end = std::min(share.begin + share.count, slice.begin + slice.count);
    if (begin >= end) continue;
    task.builder.reduce_mapped(task.group, {Space::kInput, begin, end - begin},
                               {space, begin, end - begin}, {block[rail]}, false);
  }
}

// Reduces the inputs of the block into `space` of the slice owners; without a block, copies the input.
void enter(const LaneTask& task, Space space) {
  if (task.group < 0) {
    return task.builder.copy(in(Space::kInput, task.range), in(space, task.range));
  }
  host_barrier(task);
  reduce_share(task, space);
  // With as many ranks as rails, share and slice coincide: each rank reduces the slice it owns.
  const bool reduces_for_others =
      static_cast<int>(task.layout.my_block().size()) > task.layout.rails();
  if (reduces_for_others) host_barrier(task);
}

// Copies every slice to this rank's output, each from `space` of its owner.
void read_slices(const LaneTask& task, Space space) {
  const LaneTask& t = task;
  for (int i = 1; i <= t.layout.rails(); ++i) {
    const int rail = (t.layout.index_in_block() + i) % t.layout.rails();
    const Range slice = slice_of(t, rail);
    if (rail == t.layout.index_in_block()) {
      if (space != Space::kOutput) t.builder.copy(in(space, slice), in(Space::kOutput, slice));
    } else {
      t.builder.read_mapped(t.layout.my_block()[rail], in(space, slice), in(Space::kOutput, slice));
    }
  }
}

void run(const LaneTask& task, const Axis& axis, const SubgroupTask& subtask) {
  axis.algorithm->build(task.builder, subtask);
}

// all_reduce of `range` of this rank along its rail: the three phases above.
void all_reduce_on_rail(const LaneTask& task, Range range) {
  const auto& axes = task.layout.axes();
  std::vector<Subgroup> subgroups;
  std::vector<Pieces> pieces;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    subgroups.push_back(task.layout.subgroup(axes[a]));
    if (a + 1 == axes.size()) break;
    pieces.push_back(Pieces::of_split(range, axes[a].size, task.request.element_bytes));
    run(task, axes[a],
        {Collective::kReduceScatter, subgroups[a], task.request, {}, &pieces[a], 0, false});
    range = pieces[a].only(subgroups[a].index);
  }
  run(task, axes.back(),
      {Collective::kAllReduce, subgroups.back(), task.request, range, nullptr, 0, true});
  for (std::size_t a = pieces.size(); a-- > 0;) {
    run(task, axes[a],
        {Collective::kAllGather, subgroups[a], task.request, {}, &pieces[a], 0, false});
  }
}

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t count : counts) offsets.push_back(offsets.back() + count);
  return offsets;
}

// broadcast, reduce and barrier: the blocks form one subgroup, and block `root` is the root.
void run_on_rail(const LaneTask& task, Collective collective, const Range& range, int root) {
  const Axis& axis = task.layout.axes().back();
  const Subgroup subgroup = task.layout.subgroup(axis);
  run(task, axis, {collective, subgroup, task.request, range, nullptr, root, true});
}

// Pieces of the ranks that `rail` serves, by the index of their block along `axis`. Includes only blocks with this
// rank's coordinates on the preceding axes. Rail g serves the ranks with index g, g + rails, ... in their block.
Pieces pieces_along(const LaneTask& task, const Axis& axis, int rail, Space space) {
  const auto offsets = offsets_of(task.request.counts);
  const Layout& layout = task.layout;
  Pieces pieces;
  for (int i = 0; i < axis.size; ++i) {
    pieces.add_piece();
    const int first = layout.block_index() % axis.stride + i * axis.stride;
    for (int b = first; b < layout.block_count(); b += axis.stride * axis.size) {
      const auto block = layout.block(b);
      for (std::size_t index = rail; index < block.size(); index += layout.rails()) {
        const int rank = block[index];
        pieces.append({space, offsets[rank], task.request.counts[rank]});
      }
    }
  }
  return pieces;
}

// The same over all blocks.
std::vector<Range> all_of_rail(const LaneTask& task, int rail, Space space) {
  return pieces_along(task, Axis{}, rail, space).runs(0, 1);
}

Range piece_of(const LaneTask& task, int rank, Space space) {
  return {space, offsets_of(task.request.counts)[rank], task.request.counts[rank]};
}

}  // namespace

bool uses_node_leader(const Layout& layout, const Request& request, int lanes) {
  return request.collective == Collective::kAllReduce && layout.rails() == 1 && lanes == 1 &&
         static_cast<std::size_t>(request.count) * request.element_bytes <= kMaxSlotBytes;
}

void all_reduce_lane(const LaneTask& task) {
  if (task.group >= 0 && uses_node_leader(task.layout, task.request, task.lanes)) {
    const int root = task.layout.my_block()[0];
    const Range result = in(Space::kOutput, task.range);
    task.builder.leader_reduce(task.group, root, in(Space::kInput, task.range), result);
    if (task.rank == root) all_reduce_on_rail(task, result);
    return task.builder.leader_broadcast(task.group, root, result, result);
  }
  enter(task, Space::kOutput);
  if (task.layout.on_rail()) {
    all_reduce_on_rail(task, in(Space::kOutput, slice_of(task, task.layout.index_in_block())));
  }
  if (task.group < 0) return;
  host_barrier(task);
  read_slices(task, Space::kOutput);
  host_barrier(task);
}

// The rail owners on the root's host read their slices from the root, each rail broadcasts its slice to the other
// hosts, and there all ranks copy the slices from their owners. Each slice crosses each network link once.
void broadcast_lane(const LaneTask& task) {
  const Layout& layout = task.layout;
  const int root = task.request.root;
  const int root_block = layout.block_of(root);
  const bool reads_root = layout.block_index() == root_block && task.rank != root;
  const auto read_root = [&](const Range& slice) {
    task.builder.read_mapped(root, in(Space::kInput, slice), in(Space::kOutput, slice));
  };
  host_barrier(task);
  if (task.rank == root) {
    task.builder.copy(in(Space::kInput, task.range), in(Space::kOutput, task.range));
  }
  if (layout.on_rail()) {
    const Range slice = slice_of(task, layout.index_in_block());
    if (reads_root) read_root(slice);
    run_on_rail(task, Collective::kBroadcast, in(Space::kOutput, slice), root_block);
  }
  if (task.group < 0) return;
  host_barrier(task);
  if (reads_root) {
    for (int rail = 0; rail < layout.rails(); ++rail) {
      if (rail != layout.index_in_block()) read_root(slice_of(task, rail));
    }
  } else if (task.rank != root) {
    read_slices(task, Space::kOutput);
  }
  host_barrier(task);
}

// Like all_reduce up to the network phase, in which each rail reduces its slice to the root's host. The root copies the
// slices from their owners there.
void reduce_lane(const LaneTask& task) {
  const bool is_root = task.rank == task.request.root;
  const Space space = is_root && task.group < 0 ? Space::kOutput : Space::kScratch;
  enter(task, space);
  if (task.layout.on_rail()) {
    run_on_rail(task, Collective::kReduce, in(space, slice_of(task, task.layout.index_in_block())),
                task.layout.block_of(task.request.root));
  }
  if (task.group < 0) return;
  host_barrier(task);
  if (is_root) read_slices(task, space);
  host_barrier(task);
}

// After the host barrier, the first rank of each host knows that all ranks of its host have entered; after the barrier
// between hosts it knows this of all ranks.
void barrier_lane(const LaneTask& task) {
  host_barrier(task);
  if (task.layout.index_in_block() == 0) run_on_rail(task, Collective::kBarrier, {}, 0);
  host_barrier(task);
}

// Each rail owner reduces, over its host, the pieces of all ranks that its rail serves. Each axis then reduces this set
// to the pieces of the ranks that are still ahead.
void reduce_scatter_lane(const LaneTask& task) {
  const Layout& layout = task.layout;
  const Range mine = piece_of(task, task.rank, Space::kScratch);
  const Range result{Space::kOutput, 0, mine.count};
  host_barrier(task);
  if (task.group < 0) {
    const Range all{Space::kInput, 0, offsets_of(task.request.counts).back()};
    task.builder.copy(all, in(Space::kScratch, all));
  } else if (layout.on_rail()) {
    for (const Range& range : all_of_rail(task, layout.index_in_block(), Space::kScratch)) {
      task.builder.reduce_mapped(task.group, in(Space::kInput, range), range, {task.rank}, false);
    }
  }
  if (layout.on_rail()) {
    for (const Axis& axis : layout.axes()) {
      const Subgroup subgroup = layout.subgroup(axis);
      const Pieces pieces = pieces_along(task, axis, layout.index_in_block(), Space::kScratch);
      const bool is_last = &axis == &layout.axes().back();
      run(task, axis,
          {Collective::kReduceScatter, subgroup, task.request, {}, &pieces, 0, is_last});
    }
    task.builder.copy(mine, result);
  }
  host_barrier(task);
  if (!layout.on_rail()) {
    task.builder.read_mapped(layout.my_block()[layout.index_in_block() % layout.rails()], mine,
                             result);
  }
  host_barrier(task);
}

// The reverse of reduce_scatter: each rail owner collects the pieces of the local ranks it serves, the rails gather
// them from all hosts, and each rank copies the pieces of the other rails from their owners.
void all_gather_lane(const LaneTask& task) {
  const Layout& layout = task.layout;
  const auto block = layout.my_block();
  host_barrier(task);
  const Range mine = piece_of(task, task.rank, Space::kOutput);
  task.builder.copy({Space::kInput, 0, mine.count}, mine);
  if (layout.on_rail()) {
    for (std::size_t p = layout.index_in_block() + layout.rails(); p < block.size();
         p += layout.rails()) {
      const Range piece = piece_of(task, block[p], Space::kOutput);
      task.builder.read_mapped(block[p], {Space::kInput, 0, piece.count}, piece);
    }
    for (std::size_t a = layout.axes().size(); a-- > 0;) {
      const Axis& axis = layout.axes()[a];
      const Subgroup subgroup = layout.subgroup(axis);
      const Pieces pieces = pieces_along(task, axis, layout.index_in_block(), Space::kOutput);
      run(task, axis, {Collective::kAllGather, subgroup, task.request, {}, &pieces, 0, false});
    }
  }
  host_barrier(task);
  for (int i = 1; task.group >= 0 && i <= layout.rails(); ++i) {
    const int rail = (layout.index_in_block() + i) % layout.rails();
    if (rail == layout.index_in_block()) continue;
    for (const Range& range : all_of_rail(task, rail, Space::kOutput)) {
      task.builder.read_mapped(block[rail], range, range);
    }
  }
  host_barrier(task);
}

namespace {

bool multi_dimensional_supports(Collective collective, const Shape& shape) {
  if (shape.reproducible && is_reduction(collective)) return false;
  switch (collective) {
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllToAll:
    case Collective::kSendReceive: return false;
    default: return true;
  }
}

}  // namespace

Algorithm multi_dimensional() {
  return {"multi_dimensional",
          "composes the others: an algorithm per dimension, on ever smaller pieces",
          "p",
          multi_dimensional_supports,
          nullptr,
          nullptr};
}

}  // namespace tutti::plan
