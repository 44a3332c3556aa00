#include "tutti/learn/data/data_set.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/learn/data/internal/sparse_storage.h"

namespace tutti::learn {

std::vector<int> StringCategories::categorical() const {
  std::vector<int> found;
  for (std::size_t j = 0; j < columns.size(); ++j)
    if (!columns[j].empty()) found.push_back(static_cast<int>(j));
  return found;
}

namespace {

bool is_categorical(const StringCategories& categories, std::int64_t column) {
  const auto index = static_cast<std::size_t>(column);
  return index < categories.columns.size() && !categories.columns[index].empty();
}

// Number of columns that a column becomes.
std::int64_t width_of(const StringCategories& categories, std::int64_t column) {
  if (!is_categorical(categories, column)) return 1;
  return static_cast<std::int64_t>(categories.columns[column].size());
}

}  // namespace

void check_length(std::int64_t rows, std::size_t count, std::string_view what) {
  if (static_cast<std::int64_t>(count) != rows)
    throw ConfigError("DDL-9-11", fmt::format("There are {} {} for {} rows.", count, what, rows));
}

void check_lengths(const DataSet& data) {
  if (!data.labels.empty()) check_length(data.features.rows, data.labels.size(), "labels");
  if (!data.weights.empty()) check_length(data.features.rows, data.weights.size(), "weights");
}

std::int64_t one_hot_columns(std::int64_t columns, const StringCategories& categories) {
  std::int64_t total = 0;
  for (std::int64_t column = 0; column < columns; ++column) total += width_of(categories, column);
  return total;
}

namespace {

template <class T>
Matrix one_hot(const Matrix& matrix, const StringCategories& categories) {
  const auto* values = static_cast<const T*>(matrix.values);
  SparseRowsOf<T> builder;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    std::int64_t first = 0;
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      const T value = values[row * matrix.row_stride + column * matrix.column_stride];
      if (!is_categorical(categories, column)) {
        if (value != 0) builder.add(static_cast<std::int32_t>(first), value);
      } else if (!std::isnan(value)) {
        builder.add(static_cast<std::int32_t>(first) + static_cast<std::int32_t>(value), 1);
      }
      first += width_of(categories, column);
    }
    builder.end_row();
  }
  return std::move(builder).build(one_hot_columns(matrix.columns, categories));
}

}  // namespace

Matrix one_hot_encode(const Matrix& matrix, const StringCategories& categories) {
  if (categories.categorical().empty()) return matrix;
  check_columns(one_hot_columns(matrix.columns, categories));
  return matrix.dtype == DType::kF32 ? one_hot<float>(matrix, categories)
                                     : one_hot<double>(matrix, categories);
}

template <class T>
void SparseRowsOf<T>::add(std::int32_t index, T value) {
  if (is_implicit && value != 1) {
    is_implicit = false;
    values.assign(indices.size(), T{1});
  }
  indices.push_back(index);
  if (!is_implicit) values.push_back(value);
}

template <class T>
void SparseRowsOf<T>::append(const SparseRowsOf& next) {
  const std::int64_t before = offsets.back();
  if (is_implicit && !next.is_implicit) values.assign(indices.size(), T{1});
  is_implicit = is_implicit && next.is_implicit;
  indices.insert(indices.end(), next.indices.begin(), next.indices.end());
  if (!is_implicit && next.is_implicit) {
    values.resize(indices.size(), T{1});
  } else {
    values.insert(values.end(), next.values.begin(), next.values.end());
  }
  for (std::size_t row = 1; row < next.offsets.size(); ++row)
    offsets.push_back(before + next.offsets[row]);
}

template <class T>
Matrix SparseRowsOf<T>::build(std::int64_t columns) && {
  auto storage = std::make_shared<SparseStorage>();
  storage->offsets = std::move(offsets);
  storage->indices = std::move(indices);
  std::vector<T>& kept = values_of<T>(*storage);
  kept = std::move(values);
  Matrix matrix{.storage = Storage::kCsr, .dtype = DTypeOf<T>::value};
  matrix.rows = static_cast<std::int64_t>(storage->offsets.size()) - 1;
  matrix.columns = columns;
  matrix.offsets = storage->offsets.data();
  matrix.indices = storage->indices.data();
  if (!is_implicit) matrix.values = kept.data();
  matrix.owner = std::move(storage);
  return matrix;
}

template class SparseRowsOf<float>;
template class SparseRowsOf<double>;

Matrix from_codes(std::span<const std::int32_t> codes, std::span<const std::int64_t> field_offsets,
                  std::int64_t columns) {
  const std::size_t fields = field_offsets.size();
  if (fields == 0 || codes.size() % fields != 0)
    throw ConfigError("DDL-9-01", fmt::format("{} codes cannot be divided into rows of {} fields.",
                                              codes.size(), fields));
  check_columns(columns);
  SparseRowsBuilder builder;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::int64_t column = field_offsets[i % fields] + codes[i];
    if (codes[i] < 0 || column >= columns)
      throw ConfigError("DDL-9-01",
                        fmt::format("Code {} of field {} in row {} is outside of the {} columns.",
                                    codes[i], i % fields, i / fields, columns));
    builder.add(static_cast<std::int32_t>(column), 1);
    if (i % fields == fields - 1) builder.end_row();
  }
  return std::move(builder).build(columns);
}

}  // namespace tutti::learn
