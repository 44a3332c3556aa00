// Data sets: features, labels and sample weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

// Categories of string-valued columns and labels. Code c stands for the c-th category, in ascending order.
struct StringCategories {
  std::vector<std::vector<std::string>> columns = {};  // one list per column; empty: numeric
  std::vector<std::string> labels = {};                // empty: numeric

  // Indices of the categorical columns.
  std::vector<int> categorical() const;
  bool empty() const { return labels.empty() && categorical().empty(); }
};

struct DataSet {
  Matrix features;
  std::vector<double> labels;   // one per row, or empty
  std::vector<double> weights;  // one per row, or empty: all 1
  StringCategories categories = {};
};

// Throws ConfigError unless `count` is `rows`. `what` names the values in the message: labels or weights.
void check_length(std::int64_t rows, std::size_t count, std::string_view what);
// Throws ConfigError unless the data set has one label and one weight per row, or none at all.
void check_lengths(const DataSet& data);

// Number of columns after one_hot_encode.
std::int64_t one_hot_columns(std::int64_t columns, const StringCategories& categories);
// One-hot encoding for linear models: each categorical column becomes one 0/1 column per category. Missing and unknown
// categories become zeros. A matrix with categorical columns must be dense; without any it is returned unchanged.
Matrix one_hot_encode(const Matrix& matrix, const StringCategories& categories);

// Builder of a CSR matrix, row by row; the matrix owns the memory. T is float or double.
template <class T>
class SparseRowsOf {
 public:
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> indices;
  std::vector<T> values;    // empty when `is_implicit`
  bool is_implicit = true;  // every value so far is 1

  // Values are stored from the first one that is not 1.
  void add(std::int32_t index, T value);
  void end_row() { offsets.push_back(static_cast<std::int64_t>(indices.size())); }
  // Appends the rows of `next`.
  void append(const SparseRowsOf& next);
  Matrix build(std::int64_t columns) &&;
};
using SparseRowsBuilder = SparseRowsOf<float>;

// One-hot encodes category codes: field f with code c becomes a 1 in column field_offsets[f] + c. `codes` is rows x
// fields, row-major. Throws ConfigError if a column is outside of `columns`.
Matrix from_codes(std::span<const std::int32_t> codes, std::span<const std::int64_t> field_offsets,
                  std::int64_t columns);

}  // namespace tutti::learn
