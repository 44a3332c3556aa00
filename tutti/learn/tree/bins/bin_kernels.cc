#include "tutti/learn/tree/bins/bin_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/bins/bin_kernels.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the number of ascending values below `value`.
template <int kCount, class T>
HWY_INLINE int count_below(const T* numbers, T value) {
  const hn::CappedTag<T, kCount> d;
  const auto wanted = hn::Set(d, value);
  int count = 0;
  for (std::size_t i = 0; i < kCount; i += hn::Lanes(d))
    count += static_cast<int>(hn::CountTrue(d, hn::Lt(hn::LoadU(d, numbers + i), wanted)));
  return count;
}

// One column per lane of a vector.
template <class T>
struct ColumnGroup {
  using Table = EdgeTable<T>;
  using Tag = hn::CappedTag<T, 8>;
  static constexpr int kMax = static_cast<int>(hn::MaxLanes(Tag()));
  hn::Vec<Tag> starts, scales;
  const T* HWY_RESTRICT edges;
  const std::uint8_t* HWY_RESTRICT before;
  int count;  // number of columns

  ColumnGroup(const Table& table, int first, int columns)
      : starts(hn::LoadU(Tag(), table.starts.data() + first)),
        scales(hn::LoadU(Tag(), table.scales.data() + first)),
        edges(table.edges.data()->numbers + first * Table::kEdges),
        before(table.before.data() + first * Table::kCells),
        count(columns - first < kMax ? columns - first : kMax) {}

  template <bool kIsWhole>
  HWY_INLINE void bin_row(const T* HWY_RESTRICT source, std::uint8_t* HWY_RESTRICT target) const {
    const Tag d;
    const hn::Rebind<std::int32_t, Tag> whole;
    const auto values =
        kIsWhole ? hn::LoadU(d, source)
                 : hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, source);
    const auto at = hn::Mul(hn::Sub(values, starts), scales);
    const auto last = hn::Set(d, static_cast<T>(Table::kCells - 1));
    const auto inside = hn::Min(hn::Max(at, hn::Zero(d)), last);
    HWY_ALIGN std::int32_t cells[kMax];
    hn::Store(to_integers(hn::IfThenElseZero(hn::Eq(at, at), inside)), whole, cells);
    for (int k = 0; k < (kIsWhole ? kMax : count); ++k) {
      const T value = source[k];
      const int start = before[k * Table::kCells + cells[k]];
      const int found =
          start + count_below<Table::kWindow>(edges + k * Table::kEdges + start, value);
      target[k] = static_cast<std::uint8_t>(value == value ? found : kMissingBin);
    }
  }

 private:
  static HWY_INLINE auto to_integers(hn::Vec<Tag> numbers) {
    const hn::Rebind<std::int32_t, Tag> whole;
    if constexpr (sizeof(T) == sizeof(float))
      return hn::ConvertTo(whole, numbers);
    else
      return hn::DemoteTo(whole, numbers);
  }
};

// One group of columns at a time, for as many rows as fit into the L1 cache together with the tables of the group.
template <class T>
void bin_rows_of(const EdgeTable<T>& table, const T* values, std::int64_t row_stride, int columns,
                 std::int64_t begin, std::int64_t end, std::uint8_t* bins, int stride) {
  using Table = EdgeTable<T>;
  constexpr std::int64_t kRowsAtOnce = 64;
  for (std::int64_t start = begin; start < end; start += kRowsAtOnce) {
    const std::int64_t last = end < start + kRowsAtOnce ? end : start + kRowsAtOnce;
    for (int first = 0; first < columns; first += ColumnGroup<T>::kMax) {
      const ColumnGroup<T> group(table, first, columns);
      for (std::int64_t row = start; row < last; ++row) {
        const T* source = values + row * row_stride + first;
        std::uint8_t* target = bins + row * stride + first;
        if (group.count == ColumnGroup<T>::kMax)
          group.template bin_row<true>(source, target);
        else
          group.template bin_row<false>(source, target);
      }
    }
  }
  for (const int column : table.without_cells)
    for (std::int64_t row = begin; row < end; ++row) {
      const T value = values[row * row_stride + column];
      const int block = count_below<16>(table.coarse[column].numbers, value) * 16;
      const T* edges = table.edges.data()->numbers + column * Table::kEdges;
      const int found = block + count_below<16>(edges + block, value);
      bins[row * stride + column] = static_cast<std::uint8_t>(value == value ? found : kMissingBin);
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

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(bin_rows_f32);
HWY_EXPORT(bin_rows_f64);

namespace {

// Computes the cells of a column. Returns false if it cannot have any.
template <class T>
bool set_cells(const T* edges, std::size_t count, T& start, T& scale, std::uint8_t* before) {
  using Table = EdgeTable<T>;
  if (count <= static_cast<std::size_t>(Table::kWindow))
    return true;  // all edges are in the first window
  const T range = edges[count - 1] - edges[0];
  const T cells = static_cast<T>(Table::kCells) / range;
  if (!std::isfinite(range) || !std::isfinite(cells) || !(cells > 0)) return false;
  const auto cell_of = [&](T value) {  // rounds exactly as the vector code
    return std::min(static_cast<int>((value - edges[0]) * cells), Table::kCells - 1);
  };
  std::array<int, Table::kCells + 1> upto = {};  // edges in the preceding cells
  for (std::size_t i = 0; i < count; ++i) ++upto[cell_of(edges[i]) + 1];
  if (*std::max_element(upto.begin(), upto.end()) > Table::kWindow) return false;
  std::partial_sum(upto.begin(), upto.end(), upto.begin());
  std::copy_n(upto.begin(), Table::kCells, before);
  start = edges[0];
  scale = cells;
  return true;
}

}  // namespace

template <class T>
EdgeTable<T> make_edge_table(const Bins& bins, int first_column, int columns) {
  using Table = EdgeTable<T>;
  constexpr std::size_t kBlocks = Table::kEdges / 16, kLanes = 16;
  Table table;
  const auto size = static_cast<std::size_t>(columns);
  table.edges.resize(size * kBlocks);
  table.coarse.resize(size);
  table.starts.resize(size + kLanes);  // vectors read beyond the end
  table.scales.resize(size + kLanes);
  table.before.resize(size * Table::kCells);
  for (std::size_t c = 0; c < size; ++c) {
    const auto& found = bins.columns[static_cast<std::size_t>(first_column) + c].edges;
    T* edges = table.edges[c * kBlocks].numbers;
    for (std::size_t i = 0; i < Table::kEdges; ++i)
      edges[i] = i < found.size() ? static_cast<T>(found[i]) : std::numeric_limits<T>::infinity();
    for (std::size_t i = 0; i < 16; ++i) table.coarse[c].numbers[i] = edges[16 * i + 15];
    if (!set_cells(edges, found.size(), table.starts[c], table.scales[c],
                   table.before.data() + c * Table::kCells))
      table.without_cells.push_back(static_cast<int>(c));
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
