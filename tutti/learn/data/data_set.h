// What is learnt from: features, a label per row and, if there are any, weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

// What stood as text where codes stand now: code c is the c-th of them, in ascending order.
struct StringCategories {
  std::vector<std::vector<std::string>> columns = {};  // per column, or empty: numbers
  std::vector<std::string> labels = {};                // empty: numbers

  // Columns of categories.
  std::vector<int> categorical() const;
  bool empty() const { return labels.empty() && categorical().empty(); }
};

struct DataSet {
  Matrix features;
  std::vector<double> labels;   // one per row, or empty
  std::vector<double> weights;  // one per row, or empty: all 1
  StringCategories categories = {};
};

// Throws ConfigError unless `count` labels, weights (`what`) are one for each row.
void check_length(std::int64_t rows, std::size_t count, std::string_view what);
// The same for what a data set has: as many labels, and weights, as rows; or none.
void check_lengths(const DataSet& data);

// Columns after one_hot_encode.
std::int64_t one_hot_columns(std::int64_t columns, const StringCategories& categories);
// For models that know nothing but numbers: a column of words becomes one for each of them, which
// is 1 where the row has that word; where it has none, or one that is not known, all are 0. With
// words the matrix is dense, as the reader of CSV makes it; without it is given back.
Matrix one_hot_encode(const Matrix& matrix, const StringCategories& categories);

// Builds sparse rows piece by piece, keeps the memory in the matrix it gives. T is float or double.
template <class T>
class SparseRowsOf {
 public:
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> indices;
  std::vector<T> values;    // empty when `is_implicit`
  bool is_implicit = true;  // every value so far was 1

  // Values are written out from the first one that is not 1.
  void add(std::int32_t index, T value);
  void end_row() { offsets.push_back(static_cast<std::int64_t>(indices.size())); }
  // Puts the rows of `next` below these.
  void append(const SparseRowsOf& next);
  Matrix build(std::int64_t columns) &&;
};
using SparseRowsBuilder = SparseRowsOf<float>;

// One column per code: field f with code c becomes column offsets[f] + c, which counts 1. `codes`
// are rows x offsets.size(), row by row. Throws ConfigError when a code leads outside of `columns`.
Matrix from_codes(std::span<const std::int32_t> codes, std::span<const std::int64_t> field_offsets,
                  std::int64_t columns);

}  // namespace tutti::learn
