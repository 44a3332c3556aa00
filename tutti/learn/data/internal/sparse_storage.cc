#include "tutti/learn/data/internal/sparse_storage.h"

#include <algorithm>
#include <bit>

#include "tutti/learn/base/huge_pages.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn {
namespace {

template <class T>
void resize_large(std::vector<T>& values, std::int64_t count) {
  reserve_large(values, static_cast<std::size_t>(count));
  values.resize(count);
}

template <class T>
Matrix matrix_of(std::shared_ptr<SparseStorage> memory, Storage storage, std::int64_t rows,
                 std::int64_t columns, bool has_values) {
  Matrix matrix{.storage = storage, .dtype = DTypeOf<T>::value, .rows = rows, .columns = columns};
  matrix.offsets = memory->offsets.data();
  matrix.indices = memory->indices.data();
  if (has_values) matrix.values = values_of<T>(*memory).data();
  matrix.owner = std::move(memory);
  return matrix;
}

// Number of pieces whose entries are counted separately: enough for all threads, but few enough that the counters are
// smaller than the matrix.
std::int64_t pieces_for(std::int64_t entries, std::int64_t counters) {
  const std::int64_t most = entries / (2 * std::max<std::int64_t>(1, counters));
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(most, 1, 64))));
}

// Replaces the counts per piece and target line by the index at which each piece writes its first entry of the line.
// Returns the offsets of the lines.
std::vector<std::int64_t> exclusive_sums(std::vector<std::vector<std::int64_t>>& counts,
                                         std::int64_t lines) {
  std::vector<std::int64_t> offsets(lines + 1);
  std::int64_t total = 0;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (auto& piece : counts) {
      const std::int64_t count = piece[line];
      piece[line] = total;
      total += count;
    }
    offsets[line + 1] = total;
  }
  return offsets;
}

}  // namespace

template <class T>
Matrix sparse_rows_of(const Matrix& dense, Threads& threads) {
  const T* values = static_cast<const T*>(dense.values);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return values[row * dense.row_stride + column * dense.column_stride];
  };
  auto storage = std::make_shared<SparseStorage>();
  storage->offsets.assign(dense.rows + 1, 0);
  threads.for_range(dense.rows, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t column = 0; column < dense.columns; ++column)
        storage->offsets[row + 1] += at(row, column) != 0;
  });
  for (std::int64_t row = 0; row < dense.rows; ++row)
    storage->offsets[row + 1] += storage->offsets[row];
  storage->indices.resize(storage->offsets.back());
  values_of<T>(*storage).resize(storage->offsets.back());
  threads.for_range(dense.rows, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t entry = storage->offsets[row];
      for (std::int64_t column = 0; column < dense.columns; ++column) {
        if (at(row, column) == 0) continue;
        storage->indices[entry] = static_cast<std::int32_t>(column);
        values_of<T>(*storage)[entry++] = at(row, column);
      }
    }
  });
  return matrix_of<T>(std::move(storage), Storage::kCsr, dense.rows, dense.columns, true);
}

template <class T>
Matrix transpose_storage(const Matrix& sparse, Threads& threads) {
  const bool by_rows = sparse.storage == Storage::kCsr;
  const std::int64_t lines = by_rows ? sparse.rows : sparse.columns;
  const std::int64_t targets = by_rows ? sparse.columns : sparse.rows;
  const bool has_values = sparse.values != nullptr || sparse.implicit == Implicit::kUnitNorm;
  const std::int64_t pieces = pieces_for(sparse.entries(), targets);
  const auto bound = [&](std::int64_t piece) { return lines * piece / pieces; };
  std::vector<std::vector<std::int64_t>> next_entry(pieces);
  threads.run(pieces, [&](std::int64_t piece) {
    next_entry[piece].assign(targets, 0);
    for (std::int64_t i = sparse.offsets[bound(piece)]; i < sparse.offsets[bound(piece + 1)]; ++i)
      ++next_entry[piece][sparse.indices[i]];
  });
  auto storage = std::make_shared<SparseStorage>();
  storage->offsets = exclusive_sums(next_entry, targets);
  resize_large(storage->indices, sparse.entries());
  if (has_values) resize_large(values_of<T>(*storage), sparse.entries());
  threads.run(pieces, [&](std::int64_t piece) {
    for (std::int64_t line = bound(piece); line < bound(piece + 1); ++line) {
      for (std::int64_t i = sparse.offsets[line]; i < sparse.offsets[line + 1]; ++i) {
        const std::int64_t entry = next_entry[piece][sparse.indices[i]]++;
        storage->indices[entry] = static_cast<std::int32_t>(line);
        if (has_values) values_of<T>(*storage)[entry] = value_at<T>(sparse, line, i);
      }
    }
  });
  return matrix_of<T>(std::move(storage), by_rows ? Storage::kCsc : Storage::kCsr, sparse.rows,
                      sparse.columns, has_values);
}

template Matrix sparse_rows_of<float>(const Matrix&, Threads&);
template Matrix sparse_rows_of<double>(const Matrix&, Threads&);
template Matrix transpose_storage<float>(const Matrix&, Threads&);
template Matrix transpose_storage<double>(const Matrix&, Threads&);

}  // namespace tutti::learn
