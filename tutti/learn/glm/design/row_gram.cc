#include "tutti/learn/glm/design/row_gram.h"

#include <algorithm>

#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kTileColumns = 256;
constexpr std::int64_t kColumnTiles = 8;
constexpr std::int64_t kRowGramGrain = 2 * kPadding;
constexpr std::int64_t kSparseRows = 8;
constexpr std::int64_t kColumnGrain = 4096;

// Copies the columns [begin, end) to the rows of `tile`, which have `width` values.
template <class T>
void transpose(const Matrix& m, std::int64_t begin, std::int64_t end, std::int64_t width,
               double* tile) {
  constexpr std::int64_t kSquare = 16;  // rows and columns that stay in the L1 cache
  for (std::int64_t r = 0; r < m.rows; r += kSquare)
    for (std::int64_t c = begin; c < end; c += kSquare)
      for (std::int64_t i = r; i < std::min(m.rows, r + kSquare); ++i) {
        const T* row = static_cast<const T*>(m.values) + i * m.row_stride;
        for (std::int64_t j = c; j < std::min(end, c + kSquare); ++j)
          tile[(j - begin) * width + i] = static_cast<double>(row[j * m.column_stride]);
      }
}

// Tiles of columns are transposed and packed; threads then share the Gram matrix by its rows. Tiles are added in order.
template <class T>
void add_dense(const Matrix& m, std::int64_t width, double* padded, Threads& threads) {
  const std::vector<double> ones(kTileColumns, 1.0);
  const std::int64_t tile_size = kTileColumns * width;
  std::vector<double> tiles(kColumnTiles * tile_size), packed(kColumnTiles * tile_size);
  for (std::int64_t first = 0; first < m.columns; first += kColumnTiles * kTileColumns) {
    const std::int64_t last = std::min(m.columns, first + kColumnTiles * kTileColumns);
    const std::int64_t count = (last - first + kTileColumns - 1) / kTileColumns;
    const auto begin_of = [&](std::int64_t i) { return std::min(last, first + i * kTileColumns); };
    threads.run(count, [&](std::int64_t i) {
      transpose<T>(m, begin_of(i), begin_of(i + 1), width, tiles.data() + i * tile_size);
      pack_rows(tiles.data() + i * tile_size, width, begin_of(i + 1) - begin_of(i), m.rows,
                ones.data(), width, packed.data() + i * tile_size);
    });
    threads.for_range(width, kRowGramGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < count; ++i)
        add_gram(packed.data() + i * tile_size, begin_of(i + 1) - begin_of(i), width, begin, end,
                 padded);
    });
  }
}

// One row at a time is expanded, and multiplied by the rows up to it.
template <class T>
void add_sparse_products(const Matrix& m, double* gram, Threads& threads) {
  threads.for_range(m.rows, kSparseRows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> expanded(m.columns);
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t at = m.offsets[i]; at < m.offsets[i + 1]; ++at)
        expanded[m.indices[at]] = static_cast<double>(value_at<T>(m, i, at));
      for (std::int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::int64_t at = m.offsets[j]; at < m.offsets[j + 1]; ++at)
          sum += static_cast<double>(value_at<T>(m, j, at)) * expanded[m.indices[at]];
        gram[i * m.rows + j] = gram[j * m.rows + i] = sum;
      }
      for (std::int64_t at = m.offsets[i]; at < m.offsets[i + 1]; ++at) expanded[m.indices[at]] = 0;
    }
  });
}

template <class T>
std::vector<double> typed_gram(const Matrix& m, Threads& threads) {
  std::vector<double> gram(m.rows * m.rows);
  if (m.is_sparse()) {
    add_sparse_products<T>(m, gram.data(), threads);
    return gram;
  }
  const std::int64_t width = (m.rows + kPadding - 1) / kPadding * kPadding;
  std::vector<double> padded(width * width);
  add_dense<T>(m, width, padded.data(), threads);
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = i; j < m.rows; ++j)
      gram[i * m.rows + j] = gram[j * m.rows + i] = padded[i * width + j];
  return gram;
}

template <class T>
std::vector<double> typed_combination(const Matrix& m, const double* factors, Threads& threads) {
  std::vector<double> sums(m.columns);
  if (m.is_sparse()) {
    for (std::int64_t r = 0; r < m.rows; ++r)
      for (std::int64_t at = m.offsets[r]; at < m.offsets[r + 1]; ++at)
        sums[m.indices[at]] += factors[r] * static_cast<double>(value_at<T>(m, r, at));
    return sums;
  }
  threads.for_range(m.columns, kColumnGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = 0; r < m.rows; ++r) {
      const T* row = static_cast<const T*>(m.values) + r * m.row_stride;
      for (std::int64_t j = begin; j < end; ++j)
        sums[j] += factors[r] * static_cast<double>(row[j * m.column_stride]);
    }
  });
  return sums;
}

}  // namespace

std::vector<double> row_gram(const Matrix& matrix, Threads& threads) {
  const Matrix m =
      matrix.storage == Storage::kCsc ? to_storage(matrix, Storage::kCsr, threads) : matrix;
  return m.dtype == DType::kF32 ? typed_gram<float>(m, threads) : typed_gram<double>(m, threads);
}

std::vector<double> combine_rows(const Matrix& matrix, const double* factors, Threads& threads) {
  return matrix.dtype == DType::kF32 ? typed_combination<float>(matrix, factors, threads)
                                     : typed_combination<double>(matrix, factors, threads);
}

}  // namespace tutti::learn
