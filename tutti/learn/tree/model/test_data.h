// Data and comparisons shared by the tests of trees.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

struct TestData {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> values;
  std::vector<double> labels;  // 0 or 1

  Matrix matrix() const {
    return {Storage::kDense, DType::kF32, rows, columns, values.data(), columns, 1};
  }
  Matrix matrix(std::int64_t begin, std::int64_t end) const {
    return {Storage::kDense,
            DType::kF32,
            end - begin,
            columns,
            values.data() + begin * columns,
            columns,
            1};
  }
};

// The class depends on the first three columns; one in `missing_of` values is missing (0: none).
inline TestData make_data(std::int64_t rows, std::int64_t columns, int missing_of = 0,
                          unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  TestData data = {rows, columns, {}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<float> x(static_cast<std::size_t>(columns));
    for (float& value : x) value = normal(random);
    const float signal = x[0] * x[1 % x.size()] + x[2 % x.size()] + 0.5F * normal(random);
    data.labels.push_back(signal > 0 ? 1 : 0);
    for (float& value : x)
      if (missing_of > 0 && random() % static_cast<unsigned>(missing_of) == 0)
        value = std::numeric_limits<float>::quiet_NaN();
    data.values.insert(data.values.end(), x.begin(), x.end());
  }
  return data;
}

inline void expect_same(const Model& a, const Model& b) {
  ASSERT_EQ(a.trees.size(), b.trees.size());
  EXPECT_EQ(a.base, b.base);
  ASSERT_EQ(a.fourier_learners.size(), b.fourier_learners.size());
  for (std::size_t i = 0; i < a.fourier_learners.size(); ++i)
    EXPECT_EQ(a.fourier_learners[i].coefficients, b.fourier_learners[i].coefficients);
  for (std::size_t t = 0; t < a.trees.size(); ++t) {
    ASSERT_EQ(a.trees[t].nodes.size(), b.trees[t].nodes.size()) << "tree " << t;
    EXPECT_EQ(a.trees[t].values, b.trees[t].values) << "tree " << t;
    for (std::size_t i = 0; i < a.trees[t].nodes.size(); ++i) {
      const Node &x = a.trees[t].nodes[i], &y = b.trees[t].nodes[i];
      ASSERT_EQ(x.column, y.column) << "tree " << t << " node " << i;
      ASSERT_EQ(x.threshold, y.threshold) << "tree " << t << " node " << i;
      ASSERT_EQ(x.missing_left, y.missing_left) << "tree " << t << " node " << i;
      ASSERT_EQ(x.count, y.count) << "tree " << t << " node " << i;
      ASSERT_EQ(x.left, y.left);
      ASSERT_EQ(x.right, y.right);
    }
  }
}

// Fraction of rows whose more probable class is correct.
inline double accuracy(const std::vector<double>& raw, const std::vector<double>& labels,
                       int outputs) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool is_one = outputs == 1 ? raw[i] > 0 : raw[2 * i + 1] > 0.5;
    right += is_one == (labels[i] > 0.5) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

}  // namespace tutti::learn::tree
