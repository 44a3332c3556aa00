#include "tutti/learn/tree/bins/bins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/binned_data.h"
#include "tutti/learn/tree/bins/sample.h"
#include "tutti/learn/tree/model/test_data.h"

namespace tutti::learn::tree {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Matrix column_of(const std::vector<T>& values) {
  return {Storage::kDense,
          DTypeOf<T>::value,
          static_cast<std::int64_t>(values.size()),
          1,
          values.data(),
          1,
          1};
}

TEST(Sort, AscendingForAllKindsOfNumbers) {
  std::vector<double> values = {3, -1, 0, -0.0, 1e300, -1e300, 0.1, -0.1, 1e-300};
  for (int i = 0; i < 1000; ++i) values.push_back(std::sin(i) * std::exp(i % 50));
  std::vector<double> expected = values;
  std::sort(expected.begin(), expected.end());
  sort_numbers(values);
  EXPECT_EQ(values, expected);
  std::vector<double> single = {3, -1, 0, 2.5, -7, 1e10F};
  sort_numbers(single);
  EXPECT_EQ(single, (std::vector<double>{-7, -1, 0, 2.5, 3, 1e10F}));
}

TEST(Bins, EdgesAreMidpointsOfFewValues) {
  Threads threads(2);
  const std::vector<double> values = {1, 3, 3, 7, 1, kNan};
  const Bins bins = find_bins(column_of(values), {}, threads);
  EXPECT_EQ(bins.columns[0].edges, (std::vector<double>{2, 5}));
  EXPECT_TRUE(bins.columns[0].has_missing);
  EXPECT_EQ(bins.columns[0].bin_of(2), 0);
  EXPECT_EQ(bins.columns[0].bin_of(2.1), 1);
  EXPECT_EQ(bins.columns[0].bin_of(100), 2);
  EXPECT_EQ(bins.columns[0].bin_of(kNan), kMissingBin);
}

TEST(Bins, ManyValuesFillBinsEvenly) {
  Threads threads(1);
  std::vector<float> values;
  for (int i = 0; i < 50000; ++i) values.push_back(static_cast<float>(i % 10007));
  // A value of a third of the rows gets a separate bin.
  for (int i = 0; i < 25000; ++i) values.push_back(5000.5F);
  const Bins bins = find_bins(column_of(values), {}, threads);
  const BinnedData data = bin(column_of(values), bins, threads);
  std::vector<int> counts(kBins);
  for (std::int64_t row = 0; row < data.rows(); ++row) ++counts[data.at(row, 0)];
  EXPECT_GT(bins.columns[0].count(), 250);
  EXPECT_LE(bins.columns[0].count(), 255);
  std::sort(counts.begin(), counts.end());
  EXPECT_EQ(counts.back(), 25000);
  EXPECT_LT(counts[254], 250);
}

TEST(Bins, AdjacentFloatsGetDifferentBins) {
  Threads threads(1);
  const float one = 1, next = std::nextafter(1.0F, 2.0F);
  const std::vector<float> values = {one, next, one, next};
  const Bins bins = find_bins(column_of(values), {}, threads);
  const BinnedData data = bin(column_of(values), bins, threads);
  EXPECT_NE(data.at(0, 0), data.at(1, 0));
  EXPECT_EQ(data.at(0, 0), data.at(2, 0));
}

TEST(Bins, InfinitiesAreOrdinary) {
  Threads threads(1);
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {-infinity, 0, 1, infinity};
  const Bins bins = find_bins(column_of(values), {}, threads);
  const BinnedData data = bin(column_of(values), bins, threads);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(data.at(i, 0), i);
}

// The vector kernel, the categorical, scalar and sparse versions must all agree with bin_of.
TEST(Bins, EveryWayToBinAgrees) {
  Threads threads(2);
  const TestData data = make_data(3000, 37, 11);
  const Bins bins = find_bins(data.matrix(), {}, threads);
  const BinnedData binned = bin(data.matrix(), bins, threads);
  std::vector<double> doubles(data.values.begin(), data.values.end());
  Matrix wide = data.matrix();
  wide.dtype = DType::kF64;
  wide.values = doubles.data();
  const BinnedData from_doubles = bin(wide, bins, threads);
  std::vector<double> by_column(doubles.size());
  for (std::int64_t r = 0; r < 3000; ++r)
    for (std::int64_t c = 0; c < 37; ++c)
      by_column[static_cast<std::size_t>(c * 3000 + r)] =
          doubles[static_cast<std::size_t>(r * 37 + c)];
  Matrix columns = wide;
  columns.values = by_column.data();
  columns.row_stride = 1;
  columns.column_stride = 3000;
  const BinnedData from_columns = bin(columns, bins, threads);
  for (std::int64_t r = 0; r < 3000; ++r)
    for (int c = 0; c < 37; ++c) {
      const int expected = bins.columns[static_cast<std::size_t>(c)].bin_of(
          doubles[static_cast<std::size_t>(r * 37 + c)]);
      ASSERT_EQ(binned.at(r, c), expected);
      ASSERT_EQ(from_doubles.at(r, c), expected);
      ASSERT_EQ(from_columns.at(r, c), expected);
    }
}

// Columns with evenly spaced, crowded, far apart or few edges; values on the edges, beyond them and missing.
template <class T>
void expect_bins_of_any_spread() {
  Threads threads(1);
  constexpr std::int64_t kRows = 4000;
  constexpr int kColumns = 13;
  std::vector<T> values(kRows * kColumns);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) {
      const double u = static_cast<double>((r * 7919 + c * 104729) % 100003) / 100003;
      values[static_cast<std::size_t>(r * kColumns + c)] =
          static_cast<T>(c == 0   ? std::round(5 * u)
                         : c == 1 ? std::round(40 * u)
                                  : std::exp((u - 0.4) * 6 * (c - 2)));
    }
  Matrix matrix = {Storage::kDense, DTypeOf<T>::value, kRows, kColumns, values.data(), kColumns, 1};
  const Bins bins = find_bins(matrix, {}, threads);
  for (int c = 0; c < kColumns; ++c) {
    const auto& edges = bins.columns[static_cast<std::size_t>(c)].edges;
    std::int64_t r = 0;
    const auto put = [&](double value) {
      values[static_cast<std::size_t>(r++ * kColumns + c)] = static_cast<T>(value);
    };
    for (const double edge : edges) {
      put(edge);
      put(static_cast<double>(std::nextafter(static_cast<T>(edge), T{0})));
    }
    for (const double value : {kNan, std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(), -3e38, 3e38, 0.0})
      put(value);
  }
  const BinnedData data = bin(matrix, bins, threads);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) {
      const double value = static_cast<double>(values[static_cast<std::size_t>(r * kColumns + c)]);
      ASSERT_EQ(data.at(r, c), bins.columns[static_cast<std::size_t>(c)].bin_of(value))
          << value << " in column " << c;
    }
}

TEST(Bins, ColumnsOfAnyDistribution) {
  expect_bins_of_any_spread<float>();
  expect_bins_of_any_spread<double>();
}

TEST(Bins, ColumnMajorCopyIsIdentical) {
  Threads threads(2);
  const TestData data = make_data(3000, 37, 12);
  BinnedData binned = bin(data.matrix(), find_bins(data.matrix(), {}, threads), threads);
  for (int c = 0; c < 37; ++c) EXPECT_EQ(binned.one_column(c).stride, 32);
  binned.add_columns(threads);
  for (int c = 0; c < 37; ++c) {
    const auto [bins, stride] = binned.one_column(c);
    EXPECT_EQ(stride, 1);
    for (std::int64_t r = 0; r < 3000; ++r) ASSERT_EQ(bins[r], binned.at(r, c));
  }
}

TEST(Bins, MissingSparseEntriesAreZero) {
  Threads threads(2);
  // Rows: (0, 5), (-1, 0), (0, 0), (2, NaN)
  const std::vector<std::int64_t> offsets = {0, 1, 2, 2, 4};
  const std::vector<std::int32_t> indices = {1, 0, 0, 1};
  const std::vector<double> values = {5, -1, 2, kNan};
  Matrix sparse = {Storage::kCsr, DType::kF64, 4, 2, values.data()};
  sparse.offsets = offsets.data();
  sparse.indices = indices.data();
  const std::vector<double> dense_values = {0, 5, -1, 0, 0, 0, 2, kNan};
  const Matrix dense = {Storage::kDense, DType::kF64, 4, 2, dense_values.data(), 2, 1};
  const Bins a = find_bins(sparse, {}, threads), b = find_bins(dense, {}, threads);
  const Bins c = find_bins(to_storage(sparse, Storage::kCsc, threads), {}, threads);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(a.columns[i].edges, b.columns[i].edges);
    EXPECT_EQ(c.columns[i].edges, b.columns[i].edges);
    EXPECT_EQ(a.columns[i].has_missing, b.columns[i].has_missing);
  }
  const BinnedData x = bin(sparse, a, threads), y = bin(dense, b, threads);
  for (std::int64_t r = 0; r < 4; ++r)
    for (int i = 0; i < 2; ++i) EXPECT_EQ(x.at(r, i), y.at(r, i)) << r << " " << i;
}

TEST(Bins, CategoriesByFrequency) {
  Threads threads(1);
  std::vector<double> values = {7, 7, 7, 2, 2, 900000, kNan};
  BinOptions options;
  options.categorical = {0};
  const Bins bins = find_bins(column_of(values), options, threads);
  EXPECT_EQ(bins.columns[0].codes, (std::vector<std::int64_t>{7, 2, 900000}));
  EXPECT_EQ(bins.columns[0].bin_of(900000), 2);
  EXPECT_EQ(bins.columns[0].bin_of(3), kMissingBin);
  EXPECT_EQ(bins.columns[0].bin_of(-5), kMissingBin);
  values.push_back(0.5);
  EXPECT_THROW(find_bins(column_of(values), options, threads), ConfigError);
}

TEST(Bins, InvalidOptionsAndColumnsAreRejected) {
  Threads threads(1);
  const std::vector<double> values = {1, 2};
  BinOptions options;
  options.max_bins = 300;
  EXPECT_THROW(find_bins(column_of(values), options, threads), ConfigError);
  options = {};
  options.categorical = {1};
  EXPECT_THROW(find_bins(column_of(values), options, threads), ConfigError);
  const Bins bins = find_bins(column_of(values), {}, threads);
  const Matrix two = {Storage::kDense, DType::kF64, 1, 2, values.data(), 2, 1};
  EXPECT_THROW(bin(two, bins, threads), ConfigError);
}

}  // namespace
}  // namespace tutti::learn::tree
