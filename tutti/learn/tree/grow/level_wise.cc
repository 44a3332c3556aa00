#include "tutti/learn/tree/grow/level_wise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tutti/learn/tree/grow/row_partition.h"

namespace tutti::learn::tree {
namespace {

// Rows of a block: their bins stay in the L2 cache, even a node of the last level has several of them, and an offset
// fits into 15 bits.
constexpr std::int64_t kBlock = 16384;
constexpr std::size_t kBlocksOfTask = 16;  // per task of a thread
// Rows partitioned at a time: they are still in the L1 cache when they are accumulated.
constexpr std::int64_t kPartitionRows = 2048;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  // limit of the histograms of one pass
constexpr std::int64_t kMinRows = 2 * kSubtreeRows;  // below that, level-wise growth is not faster

}  // namespace

std::array<ExpandEntry, 2> add_pair(std::vector<GrownNode>& nodes, const ExpandEntry& parent,
                                    std::uint64_t* small_histogram, const NodeSums& sums,
                                    std::int64_t left_size) {
  const std::int32_t first = add_children(nodes, parent.index, left_size);
  const GrownNode& node = nodes[parent.index];
  nodes[first].sums = sums;
  nodes[first + 1].sums = difference(node.sums, sums);
  std::array<ExpandEntry, 2> both = {{{first, parent.histogram}, {first + 1, small_histogram}}};
  if (node.split.left_is_smaller) std::swap(both[0].histogram, both[1].histogram);
  return both;
}

template <class Record>
LevelWise<Record>::LevelWise(NodeContext<Record>& context, HistogramBuilder<Record>& histograms,
                             SplitFinder<Record>& finder)
    : context_(context), histograms_(histograms), finder_(finder) {
  const GrowOptions& options = context.growth.options;
  are_rows_classes_ = sizeof(Record) == sizeof(NarrowRecord) && context.growth.source != nullptr &&
                      options.is_classification && !options.keeps_last_rows &&
                      histograms.has_all_columns() && options.max_leaves == 0 &&
                      !context.samples_columns() && can_split_levels(context.growth.data.rows());
}

template <class Record>
std::vector<ExpandEntry> LevelWise<Record>::expand(std::vector<GrownNode>& nodes,
                                                   ExpandEntry root) {
  std::vector<ExpandEntry> large = {root}, small;
  const GrowOptions& options = context_.growth.options;
  const std::int64_t rows = nodes[0].size();
  if (root.histogram == nullptr || !can_split_levels(rows)) return large;
  Segments segments(1);
  for (std::int64_t begin = 0; begin < rows; begin += kBlock)
    segments[0].push_back({begin, std::min(kBlock, rows - begin)});
  const auto is_last = [&] {  // the children of this level are leaves
    const int depth = nodes[large[0].index].depth + 1;
    return options.max_depth > 0 && depth >= options.max_depth;
  };
  context_.records_are_contiguous = false;
  context_.visit_records = [&](std::int32_t index, const auto& visit) {
    for (std::size_t block = 0; block < segments[index].size(); ++block) {
      const Segment& segment = segments[index][block];
      for (std::int64_t at = segment.begin; at < segment.begin + segment.size; ++at)
        visit(record_of(block, order()[at]));
    }
  };
  if (order_ == nullptr)
    order_ = allocate_large(static_cast<std::size_t>(rows) * sizeof(std::uint16_t));
  while (!large.empty() && !is_last() &&
         large.size() * context_.slots * histograms_.words() * sizeof(std::uint64_t) <= kMaxBytes) {
    const std::vector<ExpandEntry> children = expand_level(nodes, large, segments);
    large.clear();
    for (const ExpandEntry& child : children)
      (nodes[child.index].size() <= kSubtreeRows ? small : large).push_back(child);
  }
  const bool has_next = !small.empty() || (!large.empty() && !is_last());
  if (nodes.size() > 1 && (has_next || options.keeps_last_rows)) gather_records(nodes, segments);
  context_.records_are_contiguous = true;
  context_.visit_records = {};
  order_.reset();
  small.insert(small.end(), large.begin(), large.end());
  return small;
}

template <class Record>
bool LevelWise<Record>::can_split_levels(std::int64_t rows) const {
  return context_.growth.communicator == nullptr && context_.data.tiles() == 1 &&
         rows >= kMinRows &&
         context_.slots * histograms_.words() * sizeof(std::uint64_t) <= kMaxBytes;
}

// Sums of the root. Its rows become offsets directly, without records of all rows.
template <class Record>
void LevelWise<Record>::sum_classes(GrownNode& root, std::uint64_t* histogram) {
  order_ = allocate_large(static_cast<std::size_t>(root.size()) * sizeof(std::uint16_t));
  const auto blocks = static_cast<std::size_t>((root.size() + kBlock - 1) / kBlock);
  const std::size_t tasks = (blocks + kBlocksOfTask - 1) / kBlocksOfTask;
  const auto histograms = histograms_.slot_histograms(histogram, static_cast<std::int64_t>(tasks));
  std::vector<ClassSums> sums(context_.slots);
  std::vector<std::int64_t> ones(context_.slots);
  context_.run(static_cast<std::int64_t>(tasks), [&](std::size_t slot, std::int64_t task) {
    std::vector<Record> records(static_cast<std::size_t>(kBlock));
    const std::size_t first = static_cast<std::size_t>(task) * kBlocksOfTask;
    for (std::size_t block = first; block < std::min(blocks, first + kBlocksOfTask); ++block) {
      ones[slot] += number_classes(block, records);
      const std::size_t begin = block * static_cast<std::size_t>(kBlock);
      const std::size_t size =
          std::min(static_cast<std::size_t>(kBlock), static_cast<std::size_t>(root.size()) - begin);
      const std::uint8_t* next = bins_after(block);
      Prefetcher prefetcher = {
          next, next == context_.data.tile(0) ? next : next + kBlock * context_.data.stride()};
      sums[slot].add(context_.data, bins_of(block), {order() + begin, size}, histograms[slot],
                     prefetcher);
    }
  });
  for (ClassSums& one : sums) one.flush(histogram);
  histograms_.merge(histograms);
  root.sums.count = root.sums.hessian = root.size();
  root.sums.gradient = std::accumulate(ones.begin(), ones.end(), std::int64_t{0});
}

// Returns the number of rows of class 1 in the block.
template <class Record>
std::int64_t LevelWise<Record>::number_classes(std::size_t block, std::vector<Record>& records) {
  const auto first = static_cast<std::int64_t>(block) * kBlock;
  const std::int64_t size = std::min(kBlock, context_.growth.records.size - first);
  (*context_.growth.source)(first, first + size, records.data());
  std::uint16_t* const offsets = order() + first;
  std::int64_t ones = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const int is_one = records[i].gradient != 0 ? 1 : 0;
    offsets[i] = static_cast<std::uint16_t>(i | is_one << 15);
    ones += is_one;
  }
  return ones;
}

template <class Record>
void LevelWise<Record>::number_rows(std::size_t block) {
  const auto first = static_cast<std::int64_t>(block) * kBlock;
  std::uint16_t* const offsets = order() + first;
  std::iota(offsets, offsets + std::min(kBlock, context_.growth.records.size - first),
            std::uint16_t{0});
}

template <class Record>
Record LevelWise<Record>::record_of(std::size_t block, std::uint16_t offset) const {
  const std::size_t at = block * static_cast<std::size_t>(kBlock) + (offset & kLocalRowBits);
  if (!are_rows_classes_) return context_.growth.records.data()[at];
  Record record;
  record.row = static_cast<std::uint32_t>(at);
  record.gradient = offset > kLocalRowBits ? 1 : 0;
  record.hessian = 1;
  return record;
}

template <class Record>
std::vector<ExpandEntry> LevelWise<Record>::expand_level(std::vector<GrownNode>& nodes,
                                                         std::span<const ExpandEntry> parents,
                                                         Segments& segments) {
  std::vector<LevelNode> level(parents.size());
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const GrownNode& node = nodes[parents[i].index];
    const auto column = static_cast<std::size_t>(node.split.column);
    level[i].sums = left_sums(
        histograms_.shape(), parents[i].histogram + column * histograms_.shape().words_per_column(),
        node.split);
    level[i].segments = std::move(segments[parents[i].index]);
    level[i].table = table_of(node.split);
    level[i].bins = context_.data.column(node.split.column);
    level[i].left_is_smaller = node.split.left_is_smaller;
    for (std::size_t slot = 0; slot < context_.slots; ++slot)
      level[i].histograms.push_back(histograms_.take());
  }
  partition_blocks(level, parents[0].index == 0);
  std::vector<ExpandEntry> children;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    for (std::size_t slot = 1; slot < context_.slots; ++slot)
      histograms_.give(level[i].histograms[slot]);
    histograms_.subtract(parents[i].histogram, level[i].histograms[0]);
    level[i].sums.count = 0;
    for (const std::int64_t left : level[i].lefts) level[i].sums.count += left;
    const auto both =
        add_pair(nodes, parents[i], level[i].histograms[0], level[i].sums, level[i].sums.count);
    children.insert(children.end(), both.begin(), both.end());
    segments.resize(nodes.size());
    for (std::size_t block = 0; block < level[i].segments.size(); ++block) {
      const Segment& all = level[i].segments[block];
      const std::int64_t left = level[i].lefts[block];
      segments[both[0].index].push_back({all.begin, left});
      segments[both[1].index].push_back({all.begin + left, all.size - left});
    }
  }
  finder_.find(nodes, children);
  std::erase_if(children,
                [&](const ExpandEntry& open) { return !nodes[open.index].split.exists(); });
  return children;
}

// Afterwards the first histogram of each node contains the sums of all threads.
template <class Record>
void LevelWise<Record>::partition_blocks(std::vector<LevelNode>& level, bool is_root) {
  const std::size_t blocks = level[0].segments.size(), words = histograms_.words();
  for (LevelNode& node : level) {
    node.lefts.resize(blocks);
    node.class_sums.resize(context_.slots);
  }
  const auto count = static_cast<std::int64_t>(level.size());
  context_.run(count * static_cast<std::int64_t>(context_.slots), [&](std::size_t, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    std::memset(level[at / context_.slots].histograms[at % context_.slots], 0,
                words * sizeof(std::uint64_t));
  });
  std::vector<BlockScratch> scratch(context_.slots);
  const std::size_t tasks = (blocks + kBlocksOfTask - 1) / kBlocksOfTask;
  context_.run(static_cast<std::int64_t>(tasks), [&](std::size_t slot, std::int64_t task) {
    scratch[slot].rights.resize(kBlock);
    scratch[slot].records.resize(kPartitionRows);
    const std::size_t first = static_cast<std::size_t>(task) * kBlocksOfTask;
    for (std::size_t block = first; block < std::min(blocks, first + kBlocksOfTask); ++block) {
      if (is_root && !are_rows_classes_) number_rows(block);
      const std::uint8_t* next = bins_after(block);
      Prefetcher prefetcher = {next, next};
      for (LevelNode& node : level) partition_segment(node, block, slot, scratch[slot], prefetcher);
    }
  });
  context_.run(count, [&](std::size_t, std::int64_t i) {
    LevelNode& node = level[i];
    const auto& histograms = node.histograms;
    for (ClassSums& sums : node.class_sums) sums.flush(histograms[0]);
    for (std::size_t slot = 1; slot < context_.slots; ++slot)
      for (std::size_t word = 0; word < words; ++word)
        histograms[0][word] += histograms[slot][word];
  });
}

template <class Record>
const std::uint8_t* LevelWise<Record>::bins_of(std::size_t block) const {
  return context_.data.tile(0) + static_cast<std::int64_t>(block) * kBlock * context_.data.stride();
}

// Address of the bins of the next block, for prefetching; of the first block if the next one is unknown or incomplete.
template <class Record>
const std::uint8_t* LevelWise<Record>::bins_after(std::size_t block) const {
  const auto next = static_cast<std::int64_t>(block + 1) * kBlock;
  const bool is_known =
      context_.growth.records.size == context_.data.rows() && next + kBlock <= context_.data.rows();
  return context_.data.tile(0) + (is_known ? next * context_.data.stride() : 0);
}

template <class Record>
void LevelWise<Record>::partition_segment(LevelNode& node, std::size_t block, std::size_t slot,
                                          BlockScratch& scratch, Prefetcher& prefetcher) {
  const Segment& segment = node.segments[block];
  std::uint16_t* const offsets = order() + segment.begin;
  std::uint16_t* const rights = scratch.rights.data();
  const auto stride = static_cast<std::size_t>(context_.data.stride());
  const bool has_all = context_.growth.records.size == context_.data.rows();
  const Record* const records =
      context_.growth.records.data() + static_cast<std::int64_t>(block) * kBlock;
  const std::uint8_t* const bins =
      node.bins + (has_all ? block * static_cast<std::size_t>(kBlock) * stride : 0);
  const auto part = [&](std::uint16_t* from, std::int64_t size, std::int64_t left,
                        std::int64_t right) {
    const auto by = [&](const auto& bin_of) {
      return partition_offsets(from, size, offsets + left, rights + right, bin_of, node.table,
                               prefetcher);
    };
    if (has_all)
      return by(
          [bins, stride](std::size_t offset) { return bins + (offset & kLocalRowBits) * stride; });
    return by([bins, stride, records](std::size_t offset) {
      return bins + records[offset & kLocalRowBits].row * stride;
    });
  };
  std::int64_t left = 0, right = 0;
  for (std::int64_t begin = 0; begin < segment.size; begin += kPartitionRows) {
    const std::int64_t size = std::min(segment.size - begin, kPartitionRows);
    const std::int64_t first_left = left, first_right = right;
    left += part(offsets + begin, size, left, right);
    right = begin + size - left;
    const std::span<const std::uint16_t> smaller =
        node.left_is_smaller ? std::span(offsets + first_left, offsets + left)
                             : std::span(rights + first_right, rights + right);
    if (prefetcher.next != context_.data.tile(0))
      prefetcher.end += static_cast<std::size_t>(size) * stride;
    if (are_rows_classes_) {
      node.class_sums[slot].add(context_.data, bins_of(block), smaller, node.histograms[slot],
                                prefetcher);
      continue;
    }
    for (std::size_t i = 0; i < smaller.size(); ++i)
      scratch.records[i] = record_of(block, smaller[i]);
    histograms_.add_rows_of({scratch.records.data(), smaller.size()}, node.histograms[slot],
                            &prefetcher);
  }
  node.lefts[block] = left;
  std::copy_n(rights, right, offsets + left);
}

template <class Record>
bool LevelWise<Record>::needs_rows(const GrownNode& node) const {
  const GrowOptions& options = context_.growth.options;
  const bool is_last = options.max_depth > 0 && node.depth + 1 >= options.max_depth;
  return options.keeps_last_rows || (node.split.exists() && !is_last);
}

template <class Record>
void LevelWise<Record>::gather_records(const std::vector<GrownNode>& nodes,
                                       const Segments& segments) {
  // Records computed from offsets alone can overwrite the old ones.
  Record* const target =
      (are_rows_classes_ ? context_.growth.records : context_.growth.scratch).data();
  context_.run(static_cast<std::int64_t>(nodes.size()), [&](std::size_t, std::int64_t i) {
    const GrownNode& node = nodes[i];
    if (node.left >= 0 || !needs_rows(node)) return;
    Record* to = target + node.begin;
    const auto& blocks = segments[i];
    for (std::size_t block = 0; block < blocks.size(); ++block)
      for (std::int64_t at = 0; at < blocks[block].size; ++at)
        *to++ = record_of(block, order()[blocks[block].begin + at]);
  });
  if (!are_rows_classes_) std::swap(context_.growth.records, context_.growth.scratch);
}

template class LevelWise<NarrowRecord>;
template class LevelWise<WideRecord>;

}  // namespace tutti::learn::tree
