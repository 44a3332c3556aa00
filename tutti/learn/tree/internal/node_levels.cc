// Large nodes, level by level.
//
// Rows are cut into blocks of consecutive ones. A pass takes block after block and parts, within
// the block, the rows of every node of the level; those of the smaller children go into their
// histograms. So a pass fetches the bins of all rows once and in their order, where parting one
// node after the other fetches a cache line for each row. Once nodes are small, the rows of each
// are brought together.
#include <algorithm>

#include "tutti/learn/threads.h"
#include "tutti/learn/tree/internal/divide.h"
#include "tutti/learn/tree/internal/node_work.h"

namespace tutti::learn::tree {
namespace {

// Rows of a block: bins, records and scratch memory together stay in the caches near a core, and
// even a node of the last level has some of them.
constexpr std::int64_t kBlock = 32768;
constexpr std::size_t kBlocksOfTask = 8;  // that a thread takes at a time
// Rows that are parted at a time: they are still in the first caches when they are added up.
constexpr std::int64_t kPartedRows = 2048;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of histograms in one pass
constexpr std::int64_t kFewestRows = 4 * kSubtreeRows;     // for which this pays

}  // namespace

template <class Record>
std::vector<OpenNode> NodeWork<Record>::expand_large(std::vector<GrownNode>& nodes, OpenNode root) {
  std::vector<OpenNode> large = {root}, small;
  const GrowOptions& options = growth_.options;
  const std::int64_t rows = nodes[0].size();
  if (growth_.communicator != nullptr || root.histogram == nullptr || data_->tiles() > 1 ||
      rows < kFewestRows)
    return large;
  Segments segments(1);
  for (std::int64_t begin = 0; begin < rows; begin += kBlock)
    segments[0].push_back({begin, std::min(kBlock, rows - begin)});
  const auto is_last = [&] {  // the children of this level are leaves
    const int depth = nodes[static_cast<std::size_t>(large[0].index)].depth + 1;
    return options.max_depth > 0 && depth >= options.max_depth;
  };
  are_rows_together_ = false;
  while (!large.empty() && !is_last() &&
         large.size() * slots_ * pool_.words() * sizeof(std::uint64_t) <= kMostBytes) {
    const std::vector<OpenNode> children = expand_level(nodes, large, segments);
    large.clear();
    for (const OpenNode& child : children)
      (nodes[static_cast<std::size_t>(child.index)].size() <= kSubtreeRows ? small : large)
          .push_back(child);
  }
  const bool has_next = !small.empty() || (!large.empty() && !is_last());
  if (nodes.size() > 1 && (has_next || options.keeps_last_rows)) bring_together(nodes, segments);
  are_rows_together_ = true;
  small.insert(small.end(), large.begin(), large.end());
  return small;
}

template <class Record>
std::vector<OpenNode> NodeWork<Record>::expand_level(std::vector<GrownNode>& nodes,
                                                     std::span<const OpenNode> parents,
                                                     Segments& segments) {
  std::vector<LevelNode> level(parents.size());
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const GrownNode& node = nodes[static_cast<std::size_t>(parents[i].index)];
    const auto column = static_cast<std::size_t>(node.split.column);
    level[i].sums =
        left_sums(shape_, parents[i].histogram + column * shape_.words_per_column(), node.split);
    level[i].segments = std::move(segments[static_cast<std::size_t>(parents[i].index)]);
    level[i].table = table_of(node.split);
    level[i].bins = data_->column(node.split.column);
    level[i].left_is_smaller = node.split.left_is_smaller;
    for (std::size_t slot = 0; slot < slots_; ++slot) level[i].histograms.push_back(pool_.take());
  }
  part_blocks(level);
  std::vector<OpenNode> children;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    for (std::size_t slot = 1; slot < slots_; ++slot) pool_.give(level[i].histograms[slot]);
    subtract(parents[i].histogram, level[i].histograms[0]);
    level[i].sums.count = 0;
    for (const std::int64_t left : level[i].lefts) level[i].sums.count += left;
    const auto both =
        add_pair(nodes, parents[i], level[i].histograms[0], level[i].sums, level[i].sums.count);
    children.insert(children.end(), both.begin(), both.end());
    segments.resize(nodes.size());
    for (std::size_t block = 0; block < level[i].segments.size(); ++block) {
      const Segment& all = level[i].segments[block];
      const std::int64_t left = level[i].lefts[block];
      segments[static_cast<std::size_t>(both[0].index)].push_back({all.begin, left});
      segments[static_cast<std::size_t>(both[1].index)].push_back(
          {all.begin + left, all.size - left});
    }
  }
  find_splits(nodes, children);
  std::erase_if(children, [&](const OpenNode& open) {
    return !nodes[static_cast<std::size_t>(open.index)].split.exists();
  });
  return children;
}

// Afterwards the first histogram of each node has the sums of all.
template <class Record>
void NodeWork<Record>::part_blocks(std::vector<LevelNode>& level) {
  const std::size_t blocks = level[0].segments.size(), words = pool_.words();
  for (LevelNode& node : level) node.lefts.resize(blocks);
  const auto count = static_cast<std::int64_t>(level.size());
  run(count * static_cast<std::int64_t>(slots_), [&](std::size_t, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    std::memset(level[at / slots_].histograms[at % slots_], 0, words * sizeof(std::uint64_t));
  });
  std::vector<std::vector<Record>> scratch(slots_);
  const std::size_t tasks = (blocks + kBlocksOfTask - 1) / kBlocksOfTask;
  run(static_cast<std::int64_t>(tasks), [&](std::size_t slot, std::int64_t task) {
    scratch[slot].resize(static_cast<std::size_t>(kBlock));
    const std::size_t first = static_cast<std::size_t>(task) * kBlocksOfTask;
    for (std::size_t block = first; block < std::min(blocks, first + kBlocksOfTask); ++block)
      for (std::size_t i = 0; i < level.size(); ++i) {
        fetch(block + 1, i, level.size());
        part_segment(level[i], block, slot, scratch[slot].data());
      }
  });
  run(count, [&](std::size_t, std::int64_t i) {
    const auto& histograms = level[static_cast<std::size_t>(i)].histograms;
    for (std::size_t slot = 1; slot < slots_; ++slot)
      for (std::size_t word = 0; word < words; ++word)
        histograms[0][word] += histograms[slot][word];
  });
}

// Part `part` of `parts` of the bins of a block, which are needed soon. Without all rows the rows
// of a block are not known; then nothing is fetched.
template <class Record>
void NodeWork<Record>::fetch(std::size_t block, std::size_t part, std::size_t parts) const {
  constexpr std::size_t kLine = 64;
  if (growth_.records.size != data_->rows()) return;
  const auto rows = static_cast<std::size_t>(data_->rows());
  const auto block_rows = static_cast<std::size_t>(kBlock);
  const std::size_t begin = std::min(rows, block * block_rows + block_rows * part / parts);
  const std::size_t end = std::min(rows, block * block_rows + block_rows * (part + 1) / parts);
  const auto stride = static_cast<std::size_t>(data_->stride());
  const std::uint8_t* const last = data_->tile(0) + end * stride;
  for (const std::uint8_t* at = data_->tile(0) + begin * stride; at < last; at += kLine)
    __builtin_prefetch(at, 0, 2);
}

template <class Record>
void NodeWork<Record>::part_segment(LevelNode& node, std::size_t block, std::size_t slot,
                                    Record* scratch) {
  const Segment& segment = node.segments[block];
  Record* const rows = growth_.records.data() + segment.begin;
  std::array<std::int64_t, kBlock / kPartedRows> lefts = {};
  std::int64_t all_left = 0;
  for (std::int64_t begin = 0; begin < segment.size; begin += kPartedRows) {
    const std::int64_t size = std::min(kPartedRows, segment.size - begin);
    Record* target = scratch + begin;
    const std::int64_t left =
        part_rows(rows + begin, size, target, node.bins, data_->stride(), node.table);
    lefts[static_cast<std::size_t>(begin / kPartedRows)] = left;
    all_left += left;
    if (node.left_is_smaller)
      add_rows_of({target, static_cast<std::size_t>(left)}, node.histograms[slot]);
    else
      add_rows_of({target + left, static_cast<std::size_t>(size - left)}, node.histograms[slot]);
  }
  node.lefts[block] = all_left;
  std::int64_t to_left = 0;
  for (std::int64_t begin = 0; begin < segment.size; begin += kPartedRows) {
    const std::int64_t size = std::min(kPartedRows, segment.size - begin);
    const std::int64_t left = lefts[static_cast<std::size_t>(begin / kPartedRows)];
    std::copy_n(scratch + begin, left, rows + to_left);
    std::reverse_copy(scratch + begin + left, scratch + begin + size,
                      rows + all_left + begin - to_left);
    to_left += left;
  }
}

template <class Record>
void NodeWork<Record>::bring_together(const std::vector<GrownNode>& nodes,
                                      const Segments& segments) {
  run(static_cast<std::int64_t>(nodes.size()), [&](std::size_t, std::int64_t i) {
    const GrownNode& node = nodes[static_cast<std::size_t>(i)];
    if (node.left >= 0) return;
    Record* to = growth_.scratch.data() + node.begin;
    for (const Segment& segment : segments[static_cast<std::size_t>(i)])
      to = std::copy_n(growth_.records.data() + segment.begin, segment.size, to);
  });
  std::swap(growth_.records, growth_.scratch);
}

template std::vector<OpenNode> NodeWork<NarrowRecord>::expand_large(std::vector<GrownNode>&,
                                                                    OpenNode);
template std::vector<OpenNode> NodeWork<WideRecord>::expand_large(std::vector<GrownNode>&,
                                                                  OpenNode);

}  // namespace tutti::learn::tree
