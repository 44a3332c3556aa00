#include "tutti/learn/tree/exact/exact_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/radix.h"

namespace tutti::learn::tree {
namespace {

// Maps a value to an integer with the same order; both zeros are equal.
template <class T>
auto key_of(T value) {
  using Key = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto bits = std::bit_cast<Key>(value + T{0});
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  return (bits & kSign) != 0 ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign);
}

template <class T>
struct Value {
  T value;
  std::uint32_t at;
};

// Calls set(at, code) for each value. Returns the distinct values, ascending.
template <class T, class Set>
std::vector<T> encode(std::vector<Value<T>>& values, const Set& set) {
  std::vector<Value<T>> scratch;
  radix_sort(values, scratch, [](const Value<T>& one) { return key_of(one.value); });
  std::vector<T> distinct;
  for (const Value<T>& one : values) {
    if (distinct.empty() || distinct.back() != one.value) distinct.push_back(one.value);
    set(one.at, static_cast<std::uint32_t>(distinct.size() - 1));
  }
  distinct.shrink_to_fit();
  return distinct;
}

}  // namespace

template <>
std::vector<std::vector<float>>& ExactData::distinct<float>() {
  return values_f32_;
}
template <>
std::vector<std::vector<double>>& ExactData::distinct<double>() {
  return values_f64_;
}

ExactData::ExactData(const Matrix& matrix, Threads& threads)
    : rows_(matrix.rows),
      columns_(static_cast<int>(matrix.columns)),
      is_sparse_(matrix.is_sparse()),
      is_f32_(matrix.dtype == DType::kF32) {
  const auto take = [&]<class T>(T) {
    if (is_sparse_)
      take_sparse<T>(to_storage(matrix, Storage::kCsc, threads), threads);
    else
      take_dense<T>(matrix, threads);
  };
  if (is_f32_)
    take(0.0F);
  else
    take(0.0);
}

template <class T>
void ExactData::take_dense(const Matrix& matrix, Threads& threads) {
  codes_.resize(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_));
  distinct<T>().resize(columns_);
  threads.run(columns_, [&](std::int64_t c) {
    std::uint32_t* codes = codes_.data() + c * rows_;
    const T* from = static_cast<const T*>(matrix.values) + c * matrix.column_stride;
    std::vector<Value<T>> values;
    values.reserve(rows_);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const T value = from[row * matrix.row_stride];
      if (std::isnan(value))
        codes[row] = kMissing;
      else
        values.push_back({value + T{0}, static_cast<std::uint32_t>(row)});
    }
    distinct<T>()[c] =
        encode(values, [&](std::uint32_t row, std::uint32_t code) { codes[row] = code; });
  });
}

// Encodes column by column, each including the value 0, then distributes the codes to the rows.
template <class T>
void ExactData::take_sparse(const Matrix& by_columns, Threads& threads) {
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(by_columns.entries()));
  distinct<T>().resize(columns_);
  zeros_.resize(columns_);
  threads.run(columns_, [&](std::int64_t c) {
    const std::int64_t begin = by_columns.offsets[c], end = by_columns.offsets[c + 1];
    const auto zero_at = static_cast<std::uint32_t>(end - begin);
    std::vector<Value<T>> values = {{T{0}, zero_at}};
    for (std::int64_t i = begin; i < end; ++i) {
      const T value = value_at<T>(by_columns, c, i);
      if (std::isnan(value))
        codes[i] = kMissing;
      else
        values.push_back({value + T{0}, static_cast<std::uint32_t>(i - begin)});
    }
    distinct<T>()[c] = encode(values, [&](std::uint32_t at, std::uint32_t code) {
      (at == zero_at ? zeros_[c] : codes[static_cast<std::size_t>(begin) + at]) = code;
    });
  });
  offsets_.assign(static_cast<std::size_t>(rows_) + 1, 0);
  for (std::size_t i = 0; i < codes.size(); ++i) ++offsets_[by_columns.indices[i] + 1];
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row)
    offsets_[row + 1] += offsets_[row];
  entries_.resize(codes.size());
  std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
  for (int c = 0; c < columns_; ++c)
    for (std::int64_t i = by_columns.offsets[c]; i < by_columns.offsets[c + 1]; ++i)
      entries_[next[by_columns.indices[i]]++] = {c, codes[i]};
}

std::uint32_t ExactData::code(std::uint32_t row_index, int column_index) const {
  if (!is_sparse_) return column(column_index)[row_index];
  const auto held = row(row_index);
  const auto at =
      std::lower_bound(held.begin(), held.end(), column_index,
                       [](const Entry& entry, int wanted) { return entry.column < wanted; });
  return at != held.end() && at->column == column_index ? at->code : zero(column_index);
}

double ExactData::value(int column_index, std::uint32_t code) const {
  const auto c = static_cast<std::size_t>(column_index);
  return is_f32_ ? static_cast<double>(values_f32_[c][code]) : values_f64_[c][code];
}

double ExactData::threshold(int column_index, std::uint32_t low, std::uint32_t high) const {
  return threshold(column_index, low, high,
                   value(column_index, low) / 2 + value(column_index, high) / 2);
}

double ExactData::threshold(int column_index, std::uint32_t low, std::uint32_t high,
                            double wanted) const {
  const double from = value(column_index, low);
  if (is_f32_) wanted = static_cast<double>(static_cast<float>(wanted));
  return wanted >= from && wanted < value(column_index, high) ? wanted : from;
}

}  // namespace tutti::learn::tree
