#include "tutti/learn/base/vector_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tutti::learn {
namespace {

template <class T>
class VectorKernels : public testing::Test {
 protected:
  std::vector<T> random(std::int64_t count) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(distribution_(generator_));
    return values;
  }
  static double tolerance() { return sizeof(T) == 4 ? 2e-5 : 1e-13; }

 private:
  std::mt19937 generator_{3};
  std::normal_distribution<double> distribution_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(VectorKernels, Types);

TYPED_TEST(VectorKernels, DotAndAddScaled) {
  for (const std::int64_t count : {0, 1, 7, 16, 31, 33, 100}) {
    const auto a = this->random(count), b = this->random(count);
    double expected = 0;
    for (std::int64_t i = 0; i < count; ++i) expected += static_cast<double>(a[i]) * b[i];
    EXPECT_NEAR(dot(a.data(), b.data(), count), expected, this->tolerance() * 10);
    auto target = b;
    add_scaled(TypeParam(0.5), a.data(), count, target.data());
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_NEAR(target[i], b[i] + 0.5 * a[i], this->tolerance());
  }
}

TYPED_TEST(VectorKernels, RowsTimesVectorAndBack) {
  for (const std::int64_t rows : {0, 1, 4, 6, 13})
    for (const std::int64_t columns : {1, 5, 16, 37}) {
      const std::int64_t stride = columns + 3;
      const auto x = this->random(rows * stride), v = this->random(columns), f = this->random(rows);
      std::vector<TypeParam> products(rows), target(columns, 1), squares(columns, 1);
      multiply_rows(x.data(), stride, rows, columns, v.data(), TypeParam(2), products.data());
      add_rows(x.data(), stride, rows, columns, f.data(), target.data());
      add_squares(x.data(), stride, rows, columns, f.data(), squares.data());
      for (std::int64_t r = 0; r < rows; ++r) {
        double sum = 2;
        for (std::int64_t j = 0; j < columns; ++j)
          sum += static_cast<double>(x[r * stride + j]) * v[j];
        EXPECT_NEAR(products[r], sum, this->tolerance() * 10);
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 1, square = 1;
        for (std::int64_t r = 0; r < rows; ++r) {
          const double value = x[r * stride + j];
          sum += value * f[r];
          square += value * value * f[r];
        }
        EXPECT_NEAR(target[j], sum, this->tolerance() * 10);
        EXPECT_NEAR(squares[j], square, this->tolerance() * 10);
      }
    }
}

TYPED_TEST(VectorKernels, GramMatrix) {
  for (const std::int64_t width : {kPadding, 3 * kPadding})
    for (const std::int64_t columns : {width - 17, width - 1, width}) {
      const std::int64_t rows = 19, stride = columns + 2;
      const auto x = this->random(rows * stride);
      std::vector<TypeParam> factors = this->random(rows), packed(rows * width);
      for (TypeParam& factor : factors) factor = factor * factor;
      pack_rows(x.data(), stride, rows, columns, factors.data(), width, packed.data());
      std::vector<double> gram(width * width, 0.25);
      add_gram(packed.data(), rows, width, 0, kPadding, gram.data());
      add_gram(packed.data(), rows, width, kPadding, width, gram.data());
      const auto value = [&](std::int64_t r, std::int64_t j) {
        return j < columns ? static_cast<double>(x[r * stride + j]) : j == columns ? 1.0 : 0.0;
      };
      for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t j = i; j < width; ++j) {
          double sum = 0.25;
          for (std::int64_t r = 0; r < rows; ++r) sum += factors[r] * value(r, i) * value(r, j);
          ASSERT_NEAR(gram[i * width + j], sum, this->tolerance() * 20) << i << " " << j;
        }
    }
}

TYPED_TEST(VectorKernels, SparseRows) {
  const std::vector<std::int64_t> offsets = {0, 0, 3, 20, 57};
  std::vector<std::int32_t> indices;
  for (int i = 0; i < 57; ++i) indices.push_back((i * 7) % 61);
  const auto values = this->random(57), v = this->random(61), h = this->random(4);
  for (const int kind : {0, 1, 2}) {
    const SparseRows<TypeParam> rows{offsets.data(), indices.data(),
                                     kind == 0 ? values.data() : nullptr, kind == 2};
    const auto value = [&](int r, std::int64_t i) {
      const double length = static_cast<double>(offsets[r + 1] - offsets[r]);
      return kind == 0 ? static_cast<double>(values[i]) : kind == 1 ? 1.0 : 1 / std::sqrt(length);
    };
    std::vector<TypeParam> products(4), target(61), pairs(122), curved(61), again(4);
    multiply_sparse(rows, 0, 4, v.data(), TypeParam(1), products.data());
    add_sparse(rows, 1, 4, h.data(), target.data());
    add_sparse_pairs(rows, 0, 4, h.data(), h.data(), pairs.data());
    const double sum = add_sparse_curvature(rows, 0, 4, v.data(), TypeParam(1), h.data(),
                                            again.data(), curved.data());
    std::vector<double> target_expected(61), square_expected(61), curved_expected(61);
    double sum_expected = 0;
    for (int r = 0; r < 4; ++r) {
      double product = 1;
      for (std::int64_t i = offsets[r]; i < offsets[r + 1]; ++i)
        product += value(r, i) * v[indices[i]];
      EXPECT_NEAR(products[r], product, this->tolerance() * 10);
      EXPECT_EQ(again[r], products[r]);
      sum_expected += product * h[r];
      for (std::int64_t i = offsets[r]; i < offsets[r + 1]; ++i) {
        target_expected[indices[i]] += value(r, i) * h[r];
        square_expected[indices[i]] += value(r, i) * value(r, i) * h[r];
        curved_expected[indices[i]] += value(r, i) * h[r] * product;
      }
    }
    EXPECT_NEAR(sum, sum_expected, this->tolerance() * 10);
    for (int j = 0; j < 61; ++j) {
      EXPECT_NEAR(target[j], target_expected[j], this->tolerance() * 10);
      EXPECT_NEAR(pairs[2 * j], target_expected[j], this->tolerance() * 10);
      EXPECT_NEAR(pairs[2 * j + 1], square_expected[j], this->tolerance() * 10);
      EXPECT_NEAR(curved[j], curved_expected[j], this->tolerance() * 10);
    }
  }
}

TYPED_TEST(VectorKernels, LogisticTerms) {
  std::vector<TypeParam> margins = this->random(600), labels(600), weights(600);
  margins[5] = 500;  // far beyond what exp can hold
  margins[6] = -500;
  for (int i = 0; i < 600; ++i) {
    labels[i] = i % 3 == 0 ? 1 : -1;
    weights[i] = static_cast<TypeParam>(i % 4);
  }
  std::vector<TypeParam> first(600), second(600);
  const double sum = logistic_terms(margins.data(), labels.data(), weights.data(), 600,
                                    first.data(), second.data());
  double expected = 0;
  for (int i = 0; i < 600; ++i) {
    const double z = static_cast<double>(margins[i]) * labels[i], p = 1 / (1 + std::exp(z));
    expected += weights[i] * (z < -30 ? -z : std::log1p(std::exp(-z)));
    EXPECT_NEAR(first[i], -weights[i] * labels[i] * p, this->tolerance());
    EXPECT_NEAR(second[i], weights[i] * p * (1 - p), this->tolerance());
  }
  EXPECT_NEAR(sum, expected, 1e-6 * expected);
  EXPECT_NEAR(
      logistic_terms<TypeParam>(margins.data(), labels.data(), nullptr, 5, first.data(),
                                second.data()),
      [&] {
        double s = 0;
        for (int i = 0; i < 5; ++i)
          s += std::log1p(std::exp(-static_cast<double>(margins[i]) * labels[i]));
        return s;
      }(),
      this->tolerance() * 10);
}

}  // namespace
}  // namespace tutti::learn
