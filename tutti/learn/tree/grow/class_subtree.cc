#include "tutti/learn/tree/grow/class_subtree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tutti/learn/tree/grow/node_rules.h"
#include "tutti/learn/tree/grow/row_partition.h"
#include "tutti/learn/tree/split/class_kernel.h"

// The subtree is grown depth-first on compact copies that stay in the cache:
//
// 1. The bins of its rows are copied to consecutive rows (`copy_`), so a row is a 16-bit index. An entry is this index
//    with the class in bit 16. Entries are partitioned between two lists, alternating by level; each node is a range of
//    one list.
// 2. A histogram has one 32-bit word per bin and column: rows of class 1 in the upper half, all rows in the lower half.
//    Adding an entry is one addition per column.
// 3. Expanding a node partitions its entries and accumulates the histogram of the smaller child. That of the larger
//    child is parent minus child; the subtraction is part of its search.
// 4. The search computes the best score of all columns together in f32, then searches only the candidate columns
//    exactly (see `search`).
//
// Nodes that may not be split need neither a partition nor a histogram.
namespace tutti::learn::tree {
namespace {

constexpr std::uint32_t kRowBits = 0xffff, kClassBit = 0x10000;
constexpr int kFewLanes = 16, kManyLanes = 32;

std::uint32_t narrowed(std::uint64_t word) {
  return static_cast<std::uint32_t>(gradient_of(word) << 16 | hessian_of(word));
}
std::uint64_t widened(std::uint32_t word) {
  return pack(word >> 16, word & 0xffff);
}

template <int kStride>
void copy_rows(const std::uint8_t* from, std::span<const NarrowRecord> records, std::uint8_t* to) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::size_t ahead = std::min(i + kPartitionLookahead, records.size() - 1);
    __builtin_prefetch(from + static_cast<std::size_t>(records[ahead].row) * kStride);
    std::memcpy(to + i * kStride, from + static_cast<std::size_t>(records[i].row) * kStride,
                kStride);
  }
}

template <int kColumns>
void add_entries(const std::uint8_t* bins, int stride, std::span<const std::uint32_t> entries,
                 std::uint32_t* words) {
  constexpr std::size_t kLanes = kColumns > kFewLanes ? kManyLanes : kFewLanes;
  for (const std::uint32_t entry : entries) {
    const std::uint8_t* row = bins + static_cast<std::size_t>(entry & kRowBits) * stride;
    const std::uint32_t word = (entry & kClassBit) + 1;
#pragma GCC unroll 32
    for (std::size_t c = 0; c < kColumns; ++c) words[row[c] * kLanes + c] += word;
  }
}

}  // namespace

bool ClassSubtree::suits(const Growth<NarrowRecord>& growth, const GrownNode& root) {
  const GrowOptions& options = growth.options;
  const SplitSearch& search = growth.search;
  const bool weighs_one = root.sums.hessian == root.size();  // all sample weights are 1
  return weighs_one && root.size() <= kMaxRows && growth.has_room &&
         growth.communicator == nullptr && options.is_classification && !options.keeps_last_rows &&
         options.columns_per_node == 0 && growth.data.tiles() == 1 &&
         options.columns.size() == static_cast<std::size_t>(growth.data.columns()) &&
         !search.counts_classes() && !search.rules().random_thresholds && search.rules().l2 == 0;
}

ClassSubtree::ClassSubtree(const Growth<NarrowRecord>& growth)
    : growth_(growth), lanes_(growth.data.columns() > kFewLanes ? kManyLanes : kFewLanes) {}

void ClassSubtree::grow(std::vector<GrownNode>& nodes, const std::uint64_t* histogram) {
  const std::span<const NarrowRecord> records(growth_.records.data() + nodes[0].begin,
                                              static_cast<std::size_t>(nodes[0].size()));
  begin_ = nodes[0].begin;
  const int most = growth_.options.max_depth;
  if (most == 0 || nodes[0].depth + 1 < most || histogram == nullptr) gather(records);
  Open root = {0, take(), 0};
  if (histogram == nullptr) {
    std::fill(root.words.begin(), root.words.end(), 0);
    add_rows(rows_of(nodes[0], 0), root.words);
  } else {
    for (int c = 0; c < growth_.data.columns(); ++c)
      for (int bin = 0; bin < kBins; ++bin) root.words[bin * lanes_ + c] = narrowed(*histogram++);
  }
  std::vector<Open> open;
  open.push_back(std::move(root));
  while (!open.empty()) {
    Open next = std::move(open.back());
    open.pop_back();
    expand(nodes, std::move(next), open);
  }
}

void ClassSubtree::gather(std::span<const NarrowRecord> records) {
  const BinnedData& data = growth_.data;
  if (!copy_) {
    const std::int64_t most = std::min(kMaxRows, growth_.records.size);
    copy_.emplace(most, data.columns());
    for (auto& entries : entries_) entries.resize(most);
  }
  switch (data.stride()) {
    case 4: copy_rows<4>(data.tile(0), records, copy_->tile(0)); break;
    case 8: copy_rows<8>(data.tile(0), records, copy_->tile(0)); break;
    case 16: copy_rows<16>(data.tile(0), records, copy_->tile(0)); break;
    default: copy_rows<32>(data.tile(0), records, copy_->tile(0));
  }
  for (std::size_t i = 0; i < records.size(); ++i)
    entries_[0][i] = static_cast<Entry>(i) | (records[i].gradient != 0 ? kClassBit : 0);
}

void ClassSubtree::add_rows(std::span<const Entry> rows, Words& words) const {
  using Function = void (*)(const std::uint8_t*, int, std::span<const Entry>, std::uint32_t*);
  static constexpr auto kFunctions = []<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    return std::array<Function, sizeof...(kIndex)>{&add_entries<kIndex + 1>...};
  }(std::make_integer_sequence<int, BinnedData::kTileColumns>());
  kFunctions[copy_->columns() - 1](copy_->tile(0), copy_->stride(), rows, words.data());
}

void ClassSubtree::expand(std::vector<GrownNode>& nodes, Open parent, std::vector<Open>& open) {
  const Split split = nodes[parent.index].split;
  const NodeSums all = nodes[parent.index].sums;
  const NodeSums left = left_sums(split, parent.words);
  const std::int32_t first = add_children(nodes, parent.index, left.count);
  nodes[first].sums = left;
  nodes[first + 1].sums = difference(all, left);
  const std::int32_t small = split.left_is_smaller ? first : first + 1;
  const std::int32_t large = 2 * first + 1 - small;
  const auto& rules = growth_.search.rules();
  GrownNode& small_node = nodes[small];
  GrownNode& large_node = nodes[large];
  const bool may_small = may_split(small_node, growth_.options, rules);
  const bool may_large = may_split(large_node, growth_.options, rules);
  if (may_small || may_large) {
    partition(nodes[parent.index], parent.side);
    const int side = 1 - parent.side;
    Words words = take();
    std::fill(words.begin(), words.end(), 0);
    add_rows(rows_of(small_node, side), words);
    if (may_large) search(large_node, parent.words, &words);
    if (may_small) search(small_node, words, nullptr);
    const auto keep = [&](const GrownNode& node, std::int32_t index, Words its) {
      if (node.split.exists())
        open.push_back({index, std::move(its), side});
      else
        give(std::move(its));
    };
    keep(large_node, large, std::move(parent.words));
    keep(small_node, small, std::move(words));
  } else {
    give(std::move(parent.words));
  }
}

NodeSums ClassSubtree::left_sums(const Split& split, const Words& words) const {
  std::uint32_t sum = 0;
  const std::uint32_t* column = words.data() + split.column;
  for (int bin = 0; bin < kBins; ++bin) sum += split.goes_left(bin) ? column[bin * lanes_] : 0;
  return {sum >> 16, sum & 0xffff, sum & 0xffff, {}};
}

void ClassSubtree::partition(const GrownNode& node, int side) {
  const auto table = table_of(node.split);
  const std::uint8_t* bins = copy_->column(node.split.column);
  const auto stride = static_cast<std::size_t>(copy_->stride());
  const std::span<Entry> rows = rows_of(node, side), partitioned = rows_of(node, 1 - side);
  Entry* left = partitioned.data();
  Entry* right = partitioned.data() + partitioned.size() - 1;
  for (const Entry entry : rows) {
    const std::uint8_t is_left = table[bins[(entry & kRowBits) * stride]];
    *left = *right = entry;
    left += is_left;
    right -= 1 - is_left;
  }
}

std::span<ClassSubtree::Entry> ClassSubtree::rows_of(const GrownNode& node, int side) {
  return std::span(entries_[side])
      .subspan(static_cast<std::size_t>(node.begin - begin_),
               static_cast<std::size_t>(node.size()));
}

// The screen computes the best score of each column in f32. Only columns that may contain the best split are searched
// exactly: those whose score is within its error of the best, and those with missing values or categories, which the
// screen does not fully cover.
void ClassSubtree::search(GrownNode& node, Words& words, const Words* less) {
  std::array<float, kManyLanes> greatest;
  const LeftBounds bounds = growth_.search.left_bounds(node.sums);
  screen_classes(
      {words.data(), less != nullptr ? less->data() : nullptr, lanes_,
       static_cast<std::int32_t>(node.sums.gradient), static_cast<std::int32_t>(node.sums.hessian),
       static_cast<std::int32_t>(bounds.least), static_cast<std::int32_t>(bounds.most)},
      greatest.data());
  const std::span<const float> scores(greatest.data(), growth_.options.columns.size());
  const float enough = *std::max_element(scores.begin(), scores.end()) * (1 - 2 * kScreenError);
  const std::uint32_t* missing = words.data() + kMissingBin * lanes_;
  for (const int column : growth_.options.columns)
    if (greatest[column] >= enough || missing[column] != 0 ||
        growth_.search.bins(column).is_categorical)
      try_column(node, column, words);
  keep_if_good(node, growth_.options, growth_.search, [] { return true; });
}

void ClassSubtree::try_column(GrownNode& node, int column, const Words& words) const {
  std::array<std::uint64_t, kBins> wide;
  for (int bin = 0; bin < kBins; ++bin) wide[bin] = widened(words[bin * lanes_ + column]);
  growth_.search.try_histogram(column, wide.data(), node.sums, node.path, node.split);
}

ClassSubtree::Words ClassSubtree::take() {
  if (free_.empty()) return Words(static_cast<std::size_t>(kBins * lanes_));
  Words words = std::move(free_.back());
  free_.pop_back();
  return words;
}

}  // namespace tutti::learn::tree
