#include "tutti/learn/data/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/data_set.h"

namespace tutti::learn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> random_values(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random() % 3 == 0 ? static_cast<float>(random() % 100) : 0;
  return values;
}
Matrix dense(const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
  return {.rows = rows, .columns = columns, .values = values.data(), .row_stride = columns};
}
std::vector<float> all_of(const Matrix& matrix) {
  const float* values = static_cast<const float*>(matrix.values);
  return {values, values + matrix.entries()};
}
std::string error_of(const Matrix& matrix) {
  Threads threads(2);
  try {
    check(matrix, threads);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

class Forms : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Forms, RoundTrip) {
  Threads threads(3);
  const auto [rows, columns] = GetParam();
  const std::vector<float> values = random_values(static_cast<std::int64_t>(rows) * columns, 5);
  const Matrix start = dense(values, rows, columns);
  const Matrix by_rows = to_storage(start, Storage::kCsr, threads);
  const Matrix by_columns = to_storage(by_rows, Storage::kCsc, threads);
  check(by_rows, threads);
  check(by_columns, threads);
  EXPECT_EQ(all_of(to_storage(by_rows, Storage::kDense, threads)), values);
  EXPECT_EQ(all_of(to_storage(by_columns, Storage::kDense, threads)), values);
}
INSTANTIATE_TEST_SUITE_P(Sizes, Forms,
                         testing::Values(std::pair(0, 4), std::pair(1, 1), std::pair(7, 3),
                                         std::pair(3, 700), std::pair(5000, 5)));

TEST(Matrix, ColumnMajorBecomesRowMajor) {
  Threads threads(1);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Matrix columns{
      .rows = 3, .columns = 2, .values = values.data(), .row_stride = 1, .column_stride = 3};
  EXPECT_THAT(all_of(to_storage(columns, Storage::kDense, threads)), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Matrix, ImplicitRowsKeepTheirNormInCsc) {
  Threads threads(1);
  SparseRowsBuilder builder;
  for (int index = 0; index < 4; ++index) builder.add(index, 1);
  builder.end_row();
  builder.add(2, 1);
  builder.end_row();
  Matrix matrix = std::move(builder).build(4);
  matrix.implicit = Implicit::kUnitNorm;
  const Matrix columns = to_storage(matrix, Storage::kCsc, threads);
  EXPECT_THAT(all_of(columns), ElementsAre(0.5f, 0.5f, 0.5f, 1.0f, 0.5f));
}

TEST(Matrix, ARangeOfRowsIsAView) {
  Threads threads(1);
  const std::vector<float> values = random_values(60, 2);
  const Matrix all = dense(values, 12, 5);
  const std::vector<float> expected(values.begin() + 15, values.begin() + 35);
  EXPECT_EQ(all_of(row_range(all, 3, 7)), expected);
  const Matrix part = row_range(to_storage(all, Storage::kCsr, threads), 3, 7);
  check(part, threads);
  EXPECT_EQ(all_of(to_storage(part, Storage::kDense, threads)), expected);
  EXPECT_THROW(row_range(all, 3, 13), ConfigError);
}

TEST(Matrix, CodesBecomeColumns) {
  const std::vector<std::int32_t> codes = {0, 1, 2, 0};
  const std::vector<std::int64_t> offsets = {0, 3};
  const Matrix matrix = from_codes(codes, offsets, 5);
  EXPECT_THAT(std::vector(matrix.indices, matrix.indices + 4), ElementsAre(0, 4, 2, 3));
  EXPECT_EQ(matrix.values, nullptr);
  EXPECT_THROW(from_codes(codes, offsets, 4), ConfigError);
}

TEST(Matrix, CheckNamesTheFirstInvalidEntry) {
  std::vector<float> values(20, 1.0f);
  EXPECT_EQ(error_of(dense(values, 4, 5)), "none");
  values[13] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of(dense(values, 4, 5)), HasSubstr("Row 2, column 3 is NaN"));
  std::vector<std::int64_t> offsets = {0, 2, 3};
  std::vector<std::int32_t> indices = {1, 0, 2};
  Matrix sparse{.storage = Storage::kCsr, .rows = 2, .columns = 3};
  sparse.offsets = offsets.data();
  sparse.indices = indices.data();
  EXPECT_EQ(error_of(sparse), "none");
  indices[1] = 1;
  EXPECT_THAT(error_of(sparse), HasSubstr("twice in row 0"));
  indices[1] = 3;
  EXPECT_THAT(error_of(sparse), HasSubstr("outside"));
  offsets = {0, 2, 1};
  EXPECT_NE(error_of(sparse), "none");
}

// That many columns would need 64-bit indices.
TEST(Matrix, TooManyColumnsAreRejectedNotTruncated) {
  const std::int64_t offsets[] = {0, 1};
  const std::int32_t indices[] = {0};
  Threads threads(1);
  const Matrix wide{.storage = Storage::kCsr,
                    .rows = 1,
                    .columns = std::int64_t{1} << 32,
                    .offsets = offsets,
                    .indices = indices};
  EXPECT_THROW(check(wide, threads), ConfigError);
  const std::vector<std::int32_t> codes = {1, 1};
  const std::vector<std::int64_t> fields = {0, std::int64_t{1} << 32};
  EXPECT_THROW(from_codes(codes, fields, std::int64_t{1} << 33), ConfigError);
}

}  // namespace
}  // namespace tutti::learn
