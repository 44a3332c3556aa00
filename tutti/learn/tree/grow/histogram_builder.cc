#include "tutti/learn/tree/grow/histogram_builder.h"

#include <algorithm>
#include <cstring>

#include "tutti/learn/tree/grow/row_partition.h"

namespace tutti::learn::tree {

template <class Record>
HistogramBuilder<Record>::HistogramBuilder(const NodeContext<Record>& context)
    : context_(context),
      shape_(context.growth.search.shape()),
      pool_(shape_.words()),
      has_all_columns_(context.growth.options.columns.size() ==
                       static_cast<std::size_t>(context.growth.data.columns())) {}

template <class Record>
void HistogramBuilder<Record>::add_rows_of(std::span<const Record> rows, std::uint64_t* histogram,
                                           Prefetcher* prefetcher) {
  if (!has_all_columns_)
    return add_rows(context_.data, context_.growth.options.columns, rows, shape_, histogram);
  for (int tile = 0; tile < context_.data.tiles(); ++tile)
    add_rows(context_.data, tile, rows, shape_, histogram, prefetcher);
}

template <class Record>
std::vector<std::uint64_t*> HistogramBuilder<Record>::slot_histograms(std::uint64_t* target,
                                                                      std::int64_t parts) {
  std::vector<std::uint64_t*> histograms = {target};
  while (histograms.size() < std::min(context_.slots, static_cast<std::size_t>(parts)) &&
         context_.threads != nullptr)
    histograms.push_back(pool_.take());
  context_.run(static_cast<std::int64_t>(histograms.size()), [&](std::size_t, std::int64_t i) {
    std::memset(histograms[i], 0, pool_.words() * sizeof(std::uint64_t));
  });
  return histograms;
}

template <class Record>
void HistogramBuilder<Record>::merge(std::span<std::uint64_t* const> histograms) {
  constexpr std::int64_t kWords = 2048;
  if (histograms.size() > 1)
    context_.run(parts_of(static_cast<std::int64_t>(pool_.words()), kWords),
                 [&](std::size_t, std::int64_t part) {
                   const auto begin = static_cast<std::size_t>(part * kWords);
                   const auto end = std::min(pool_.words(), begin + kWords);
                   for (std::size_t slot = 1; slot < histograms.size(); ++slot)
                     for (std::size_t i = begin; i < end; ++i)
                       histograms[0][i] += histograms[slot][i];
                 });
  for (std::size_t slot = 1; slot < histograms.size(); ++slot) pool_.give(histograms[slot]);
}

template <class Record>
void HistogramBuilder<Record>::subtract(std::uint64_t* from, const std::uint64_t* what) const {
  for (std::size_t i = 0; i < pool_.words(); ++i) from[i] -= what[i];
}

template <class Record>
void HistogramBuilder<Record>::sum_root(GrownNode& root, std::uint64_t* histogram,
                                        const RankExchange& exchange) {
  const std::int64_t chunk = context_.chunk_rows();
  const std::int64_t parts = parts_of(root.size(), chunk);
  std::vector<NodeSums> sums(context_.slots);
  for (NodeSums& one : sums) one.classes.resize(shape_.kind == Kind::kClasses ? shape_.classes : 0);
  std::vector<std::uint64_t*> histograms;
  if (histogram != nullptr) histograms = slot_histograms(histogram, parts);
  context_.run(parts, [&](std::size_t slot, std::int64_t part) {
    const std::int64_t begin = root.begin + part * chunk;
    const std::span<const Record> rows(context_.growth.records.data() + begin,
                                       static_cast<std::size_t>(std::min(chunk, root.end - begin)));
    add_to(sums[slot], rows);
    if (histogram != nullptr) add_rows_of(rows, histograms[slot]);
  });
  merge(histograms);
  root.sums = sums[0];
  for (std::size_t slot = 1; slot < context_.slots; ++slot) add(root.sums, sums[slot]);
  exchange.reduce(root.sums);
  if (histogram != nullptr) exchange.reduce_scatter(histogram);
}

template class HistogramBuilder<NarrowRecord>;
template class HistogramBuilder<WideRecord>;

}  // namespace tutti::learn::tree
