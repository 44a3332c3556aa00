#include "tutti/learn/tree/bins/bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/sample.h"

namespace tutti::learn::tree {
namespace {

struct Distinct {
  double value;
  std::int64_t count;
};

// Returns the distinct values, ascending, including the implicit zeros of a sparse matrix.
std::vector<Distinct> distinct_of(std::vector<double>& values, std::int64_t zeros) {
  sort_numbers(values);
  std::vector<Distinct> distinct;
  distinct.reserve(values.size() + 1);
  const auto add = [&](double value, std::int64_t count) {
    if (distinct.empty() || distinct.back().value != value) distinct.push_back({value, 0});
    distinct.back().count += count;
  };
  for (const double value : values) {
    if (zeros > 0 && value >= 0) add(0.0, std::exchange(zeros, 0));
    add(value, 1);
  }
  if (zeros > 0) add(0.0, zeros);
  return distinct;
}

// Returns a number in [low, high) of the same type as the two.
double between(double low, double high, bool is_f32) {
  if (std::isinf(low))
    return is_f32 ? std::numeric_limits<float>::lowest() : std::numeric_limits<double>::lowest();
  if (std::isinf(high)) return low;
  double middle = low + (high - low) / 2;
  if (std::isinf(middle)) middle = low / 2 + high / 2;
  if (is_f32) middle = static_cast<double>(static_cast<float>(middle));
  return middle >= low && middle < high ? middle : low;
}

// Returns the indices of the last value of each bin but the last one. A value that is at least as frequent as an equal
// share of the rows gets a separate bin; the others are divided evenly among the remaining bins.
std::vector<std::size_t> find_ends(const std::vector<Distinct>& distinct, int max_bins) {
  std::vector<std::size_t> ends;
  ends.reserve(std::min(distinct.size(), static_cast<std::size_t>(max_bins)));
  if (distinct.size() <= static_cast<std::size_t>(max_bins)) {
    for (std::size_t i = 0; i + 1 < distinct.size(); ++i) ends.push_back(i);
    return ends;
  }
  std::int64_t rows = 0;
  for (const Distinct& one : distinct) rows += one.count;
  const double even = static_cast<double>(rows) / max_bins;
  const auto is_frequent = [&](const Distinct& one) {
    return static_cast<double>(one.count) >= even;
  };
  int bins = max_bins;
  for (const Distinct& one : distinct)
    if (is_frequent(one)) --bins, rows -= one.count;
  std::int64_t in_bin = 0;
  for (std::size_t i = 0;
       i + 1 < distinct.size() && ends.size() + 1 < static_cast<std::size_t>(max_bins); ++i) {
    const bool is_own = is_frequent(distinct[i]);
    if (!is_own) in_bin += distinct[i].count;
    const bool is_full =
        static_cast<double>(in_bin) * std::max(1, bins) >= static_cast<double>(rows);
    if (!is_own && !is_full && !is_frequent(distinct[i + 1])) continue;
    ends.push_back(i);
    if (is_own) continue;
    --bins;
    rows -= std::exchange(in_bin, 0);
  }
  return ends;
}

void set_edges(const std::vector<Distinct>& distinct, const BinOptions& options, bool is_f32,
               ColumnBins& column) {
  if (distinct.empty()) return;
  const std::vector<std::size_t> ends = find_ends(distinct, options.max_bins);
  column.edges.reserve(ends.size());
  for (const std::size_t end : ends)
    column.edges.push_back(between(distinct[end].value, distinct[end + 1].value, is_f32));
  if (!options.keeps_ranges) return;
  column.smallest = {distinct.front().value};
  for (const std::size_t end : ends) {
    column.largest.push_back(distinct[end].value);
    column.smallest.push_back(distinct[end + 1].value);
  }
  column.largest.push_back(distinct.back().value);
}

std::vector<std::int64_t> find_codes(std::vector<Distinct> distinct, int max_bins, int column) {
  for (const Distinct& one : distinct)
    if (one.value < 0 || one.value != std::floor(one.value) || one.value > 0x1p53)
      throw ConfigError(
          "DDL-9-20",
          fmt::format("column {} is categorical but contains {}: categories are integers from 0.",
                      column, one.value));
  std::stable_sort(distinct.begin(), distinct.end(),
                   [](const Distinct& a, const Distinct& b) { return a.count > b.count; });
  distinct.resize(std::min(distinct.size(), static_cast<std::size_t>(max_bins)));
  std::vector<std::int64_t> codes;
  for (const Distinct& one : distinct) codes.push_back(static_cast<std::int64_t>(one.value));
  return codes;
}

void check(const BinOptions& options, const Matrix& matrix) {
  if (options.max_bins < 2 || options.max_bins > 255)
    throw ConfigError("DDL-9-20",
                      fmt::format("max_bins is {}; valid values are 2 to 255.", options.max_bins));
  if (options.sample < 1)
    throw ConfigError("DDL-9-20", "the number of sampled rows must be at least 1.");
  for (const int column : options.categorical)
    if (column < 0 || column >= matrix.columns)
      throw ConfigError("DDL-9-20",
                        fmt::format("column {} cannot be categorical: the data has {} columns.",
                                    column, matrix.columns));
}

}  // namespace

std::uint8_t ColumnBins::bin_of(double value) const {
  if (std::isnan(value)) return kMissingBin;
  if (!is_categorical)
    return static_cast<std::uint8_t>(std::lower_bound(edges.begin(), edges.end(), value) -
                                     edges.begin());
  const auto code = static_cast<std::int64_t>(std::clamp(value, -1.0, 0x1p53));
  const auto at = std::lower_bound(bin_of_code.begin(), bin_of_code.end(),
                                   std::pair<std::int64_t, std::uint8_t>{code, 0});
  return at != bin_of_code.end() && at->first == code ? at->second : kMissingBin;
}

void ColumnBins::set_codes(std::vector<std::int64_t> most_frequent_first) {
  is_categorical = true;
  codes = std::move(most_frequent_first);
  bin_of_code.clear();
  for (std::size_t bin = 0; bin < codes.size(); ++bin)
    bin_of_code.emplace_back(codes[bin], static_cast<std::uint8_t>(bin));
  std::sort(bin_of_code.begin(), bin_of_code.end());
}

Bins find_bins(const Matrix& matrix, const BinOptions& options, Threads& threads,
               comm::Communicator* communicator) {
  check(options, matrix);
  Sample sample = take_sample(matrix, options, threads, communicator);
  Bins bins;
  bins.are_f32 = matrix.dtype == DType::kF32;
  bins.columns.resize(sample.values.size());
  for (const int column : options.categorical) bins.columns[column].is_categorical = true;
  threads.run(matrix.columns, [&](std::int64_t index) {
    const auto c = static_cast<std::size_t>(index);
    ColumnBins& column = bins.columns[c];
    const auto held = static_cast<std::int64_t>(sample.values[c].size());
    const std::int64_t zeros = sample.rows - held - sample.missing[c];
    const auto distinct = distinct_of(sample.values[c], zeros);
    column.has_missing = sample.missing[c] > 0;
    if (column.is_categorical)
      column.set_codes(find_codes(distinct, options.max_bins, static_cast<int>(index)));
    else
      set_edges(distinct, options, bins.are_f32, column);
  });
  return bins;
}

}  // namespace tutti::learn::tree
