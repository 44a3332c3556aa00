#include "tutti/learn/tree/internal/bin_kernels.h"

#include <limits>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/internal/bin_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How many of the 16 ascending numbers lie below `value`.
template <class T>
HWY_INLINE int count_below(const T* numbers, T value) {
  const hn::CappedTag<T, 16> d;
  const auto wanted = hn::Set(d, value);
  int count = 0;
  for (std::size_t i = 0; i < 16; i += hn::Lanes(d))
    count += static_cast<int>(hn::CountTrue(d, hn::Lt(hn::Load(d, numbers + i), wanted)));
  return count;
}

template <class T>
void bin_rows_of(const EdgeTable<T>& table, const T* values, std::int64_t row_stride, int columns,
                 std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride) {
  // Stores of bytes may alias anything: the tables' addresses are taken out of the loop.
  const T* HWY_RESTRICT coarse = table.coarse.data()->numbers;
  const T* HWY_RESTRICT edges = table.edges.data()->numbers;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* HWY_RESTRICT source = values + row * row_stride;
    std::uint8_t* HWY_RESTRICT target = bins + row * stride;
    for (int column = 0; column < columns; ++column) {
      const T value = source[column];
      const int block = count_below(coarse + column * 16, value) * 16;
      const int found = block + count_below(edges + column * kBins + block, value);
      target[column] = static_cast<std::uint8_t>(value == value ? found : kMissingBin);
    }
  }
}

void bin_rows_f32(const EdgeTable<float>& table, const float* values, std::int64_t row_stride,
                  int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins,
                  int stride) {
  bin_rows_of(table, values, row_stride, columns, begin, end, bins, stride);
}
void bin_rows_f64(const EdgeTable<double>& table, const double* values, std::int64_t row_stride,
                  int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins,
                  int stride) {
  bin_rows_of(table, values, row_stride, columns, begin, end, bins, stride);
}

}  // namespace tutti::learn::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::learn::tree {

HWY_EXPORT(bin_rows_f32);
HWY_EXPORT(bin_rows_f64);

template <class T>
EdgeTable<T> make_edge_table(const Bins& bins, int first_column, int columns) {
  EdgeTable<T> table;
  const auto size = static_cast<std::size_t>(columns);
  table.edges.resize(size * 16);
  table.coarse.resize(size);
  for (std::size_t c = 0; c < size; ++c) {
    const auto& found = bins.columns[static_cast<std::size_t>(first_column) + c].edges;
    for (std::size_t i = 0; i < kBins; ++i)
      table.edges[c * 16 + i / 16].numbers[i % 16] =
          i < found.size() ? static_cast<T>(found[i]) : std::numeric_limits<T>::infinity();
    for (std::size_t i = 0; i < 16; ++i)
      table.coarse[c].numbers[i] = table.edges[c * 16 + i].numbers[15];
  }
  return table;
}
template EdgeTable<float> make_edge_table(const Bins&, int, int);
template EdgeTable<double> make_edge_table(const Bins&, int, int);

void bin_rows(const EdgeTable<float>& table, const float* values, std::int64_t row_stride,
              int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride) {
  HWY_DYNAMIC_DISPATCH(bin_rows_f32)
  (table, values, row_stride, columns, begin, end, bins, stride);
}
void bin_rows(const EdgeTable<double>& table, const double* values, std::int64_t row_stride,
              int columns, std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride) {
  HWY_DYNAMIC_DISPATCH(bin_rows_f64)
  (table, values, row_stride, columns, begin, end, bins, stride);
}

}  // namespace tutti::learn::tree
#endif
