#include "tutti/learn/tree/bins/sample.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/rank_rows.h"
#include "tutti/learn/tree/bins/residency.h"

namespace tutti::learn::tree {
namespace {

double number_at(const Matrix& matrix, std::int64_t at) {
  if (matrix.dtype == DType::kF32)
    return static_cast<double>(static_cast<const float*>(matrix.values)[at]);
  return static_cast<const double*>(matrix.values)[at];
}

double entry(const Matrix& matrix, std::int64_t at, std::int64_t entries_of_row) {
  if (matrix.values != nullptr) return number_at(matrix, at);
  return matrix.implicit == Implicit::kOne ? 1.0
                                           : 1.0 / std::sqrt(static_cast<double>(entries_of_row));
}

std::vector<std::int64_t> choose_rows(const Matrix& matrix, const BinOptions& options,
                                      const RankRows& rank_rows, Threads& threads) {
  const double fraction =
      static_cast<double>(options.sample) / static_cast<double>(rank_rows.total);
  const std::uint64_t limit = fraction >= 1 ? ~0ull : static_cast<std::uint64_t>(fraction * 0x1p64);
  constexpr std::int64_t kGrain = 1 << 18;
  std::vector<std::vector<std::int64_t>> parts(
      static_cast<std::size_t>((matrix.rows + kGrain - 1) / kGrain));
  threads.for_range(matrix.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      if (!options.weights.empty() && options.weights[row] <= 0) continue;
      const auto global = static_cast<std::uint64_t>(rank_rows.first + row);
      if (fraction >= 1 || mix(options.seed, global) < limit) parts[begin / kGrain].push_back(row);
    }
  });
  std::vector<std::int64_t> rows;
  for (const auto& part : parts) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

void add(Sample& sample, std::size_t column, double value) {
  if (std::isnan(value))
    ++sample.missing[column];
  else if (value != 0)
    sample.values[column].push_back(value);
}

void take_dense(const Matrix& matrix, const std::vector<std::int64_t>& rows, bool is_streamed,
                Sample& sample, Threads& threads) {
  for (std::vector<double>& values : sample.values) values.resize(rows.size());
  const MappedRows source(matrix);
  threads.for_range(static_cast<std::int64_t>(rows.size()), 4096,
                    [&](std::int64_t begin, std::int64_t end) {
                      ReadOnce read(source, rows[begin], is_streamed);
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t row = rows[i];
                        read.reach(row);
                        for (std::int64_t c = 0; c < matrix.columns; ++c)
                          sample.values[c][i] =
                              number_at(matrix, row * matrix.row_stride + c * matrix.column_stride);
                      }
                    });
  threads.run(matrix.columns, [&](std::int64_t c) {
    auto& values = sample.values[c];
    sample.missing[c] = static_cast<std::int64_t>(
        std::erase_if(values, [](double value) { return std::isnan(value); }));
  });
}

void take_sparse_rows(const Matrix& matrix, const std::vector<std::int64_t>& rows, bool is_streamed,
                      Sample& sample) {
  const MappedRows source(matrix);
  ReadOnce read(source, 0, is_streamed);
  for (const std::int64_t row : rows) {
    read.reach(row);
    const std::int64_t begin = matrix.offsets[row], end = matrix.offsets[row + 1];
    for (std::int64_t at = begin; at < end; ++at)
      add(sample, static_cast<std::size_t>(matrix.indices[at]), entry(matrix, at, end - begin));
  }
}

void take_sparse_columns(const Matrix& matrix, const std::vector<std::int64_t>& rows,
                         Sample& sample) {
  std::vector<bool> is_chosen(static_cast<std::size_t>(matrix.rows));
  for (const std::int64_t row : rows) is_chosen[row] = true;
  for (std::int64_t c = 0; c < matrix.columns; ++c)
    for (std::int64_t at = matrix.offsets[c]; at < matrix.offsets[c + 1]; ++at)
      if (is_chosen[matrix.indices[at]])
        add(sample, static_cast<std::size_t>(c), entry(matrix, at, 0));
}

// Gathers the samples of all ranks on every rank.
void join(Sample& sample, comm::Communicator& communicator) {
  const std::size_t columns = sample.values.size();
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::int64_t> sizes(columns), all_sizes(columns * ranks), counts(ranks);
  std::vector<double> mine;
  for (std::size_t c = 0; c < columns; ++c) {
    sizes[c] = static_cast<std::int64_t>(sample.values[c].size());
    mine.insert(mine.end(), sample.values[c].begin(), sample.values[c].end());
    sample.values[c].clear();
  }
  communicator.all_gather(ConstBuffer::of<std::int64_t>(sizes),
                          Buffer::of<std::int64_t>(all_sizes));
  for (std::size_t i = 0; i < all_sizes.size(); ++i) counts[i / columns] += all_sizes[i];
  std::vector<double> all(
      static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
  communicator.all_gather(ConstBuffer::of<double>(mine), Buffer::of<double>(all), counts);
  auto from = all.begin();
  for (std::size_t i = 0; i < all_sizes.size(); ++i) {
    auto& target = sample.values[i % columns];
    target.insert(target.end(), from, from + all_sizes[i]);
    from += all_sizes[i];
  }
  sample.missing.push_back(sample.rows);
  communicator.all_reduce(Buffer::of<std::int64_t>(sample.missing));
  sample.rows = sample.missing.back();
  sample.missing.pop_back();
}

// Counts all digits in one pass; a digit that all keys share costs nothing more.
template <class Key>
void sort_keys(std::vector<Key>& keys) {
  constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits;
  constexpr int kPasses = (8 * sizeof(Key) + kDigitBits - 1) / kDigitBits;
  std::array<std::array<std::uint32_t, kDigits>, kPasses> starts = {};
  const auto digit = [](Key key, int pass) { return (key >> (pass * kDigitBits)) & (kDigits - 1); };
  for (const Key key : keys)
    for (int pass = 0; pass < kPasses; ++pass) ++starts[pass][digit(key, pass)];
  std::vector<Key> other(keys.size());
  for (int pass = 0; pass < kPasses && !keys.empty(); ++pass) {
    auto& begin = starts[pass];
    if (begin[digit(keys[0], pass)] == keys.size()) continue;
    std::uint32_t start = 0;
    for (std::uint32_t& count : begin) start += std::exchange(count, start);
    for (const Key key : keys) other[begin[digit(key, pass)]++] = key;
    keys.swap(other);
  }
}

// As integers, positive floats increase and negative ones decrease.
template <class Float, class Key>
void sort_as(std::vector<double>& values) {
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  std::vector<Key> keys(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Key bits =
        std::bit_cast<Key>(static_cast<Float>(values[i]) + Float{0});  // normalises -0 to 0
    keys[i] = (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  sort_keys(keys);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(std::bit_cast<Float>(
        (keys[i] & kSign) != 0 ? keys[i] ^ kSign : static_cast<Key>(~keys[i])));
}

template <class T>
bool has_infinite(const T* values, std::int64_t size, std::int64_t stride) {
  bool found = false;
  for (std::int64_t i = 0; i < size; ++i)
    found |= std::abs(values[i * stride]) > std::numeric_limits<T>::max();
  return found;
}

template <class T>
bool has_infinite_as(const Matrix& matrix, Threads& threads) {
  const auto* values = static_cast<const T*>(matrix.values);
  std::atomic<bool> found = false;
  if (matrix.is_sparse()) {
    if (values == nullptr) return false;
    threads.for_range(matrix.entries(), 65536, [&](std::int64_t begin, std::int64_t end) {
      if (has_infinite(values + begin, end - begin, 1)) found = true;
    });
    return found;
  }
  // Column-major matrices are read column by column.
  const bool is_by_rows = std::abs(matrix.column_stride) <= std::abs(matrix.row_stride);
  const auto look_at = [&](std::int64_t begin, std::int64_t end) {
    const T* first = values + begin * matrix.row_stride;
    const std::int64_t lines = is_by_rows ? end - begin : matrix.columns;
    for (std::int64_t i = 0; i < lines; ++i)
      if (has_infinite(first + i * (is_by_rows ? matrix.row_stride : matrix.column_stride),
                       is_by_rows ? matrix.columns : end - begin,
                       is_by_rows ? matrix.column_stride : matrix.row_stride))
        found = true;
  };
  constexpr std::int64_t kFew = 1 << 16;
  if (matrix.entries() <= kFew) {  // checking for mappings would take longer
    look_at(0, matrix.rows);
    return found;
  }
  const MappedRows source(matrix);
  threads.for_range(matrix.rows, source.rows_of(1 << 18),
                    [&](std::int64_t begin, std::int64_t end) {
                      look_at(begin, end);
                      source.release(begin, end);
                    });
  return found;
}

}  // namespace

bool has_infinite(const Matrix& matrix, Threads& threads) {
  return matrix.dtype == DType::kF32 ? has_infinite_as<float>(matrix, threads)
                                     : has_infinite_as<double>(matrix, threads);
}

Sample take_sample(const Matrix& matrix, const BinOptions& options, Threads& threads,
                   comm::Communicator* communicator) {
  const auto columns = static_cast<std::size_t>(matrix.columns);
  const auto rows =
      choose_rows(matrix, options, find_rank_rows(matrix.rows, communicator), threads);
  Sample sample = {static_cast<std::int64_t>(rows.size()),
                   std::vector<std::vector<double>>(columns), std::vector<std::int64_t>(columns)};
  if (matrix.storage == Storage::kDense)
    take_dense(matrix, rows, options.is_streamed, sample, threads);
  if (matrix.storage == Storage::kCsr) take_sparse_rows(matrix, rows, options.is_streamed, sample);
  if (matrix.storage == Storage::kCsc) take_sparse_columns(matrix, rows, sample);
  if (communicator != nullptr && columns > 0) join(sample, *communicator);
  return sample;
}

void sort_numbers(std::vector<double>& values) {
  // Columns of sparse data are so short that counting digits would take longer.
  constexpr std::size_t kFewNumbers = 128;
  if (values.size() < kFewNumbers) {
    for (double& value : values) value += 0.0;  // normalises -0 to 0
    std::sort(values.begin(), values.end());
    return;
  }
  const bool is_single = std::all_of(values.begin(), values.end(), [](double value) {
    return static_cast<double>(static_cast<float>(value)) == value;
  });
  if (is_single)
    sort_as<float, std::uint32_t>(values);
  else
    sort_as<double, std::uint64_t>(values);
}

}  // namespace tutti::learn::tree
