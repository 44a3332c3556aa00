#include "tutti/learn/data/snap_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/svmlight.h"

namespace tutti::learn {
namespace {

class SnapFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-snap-" + std::to_string(::getpid()));
  Threads threads_{1};
};

std::vector<float> dense_values(const Matrix& matrix, Threads& threads) {
  const Matrix dense = to_storage(matrix, Storage::kDense, threads);
  const float* values = static_cast<const float*>(dense.values);
  return {values, values + dense.entries()};
}

TEST_F(SnapFile, KeepsEveryStorage) {
  DataSet data = parse_svmlight("1 1:0.5 3:-2\n-1 2:4\n1 1:1 2:2 3:3 4:4\n-1\n", "f");
  const std::vector<float> expected = dense_values(data.features, threads_);
  for (const Storage storage : {Storage::kCsr, Storage::kCsc, Storage::kDense}) {
    DataSet other = data;
    other.features = to_storage(data.features, storage, threads_);
    write_snap(path_, other);
    const DataSet again = read_snap(path_);
    EXPECT_EQ(again.labels, data.labels);
    EXPECT_EQ(dense_values(again.features, threads_), expected);
  }
}

TEST_F(SnapFile, RowsWithoutValuesHaveUnitNorm) {
  DataSet data = parse_svmlight("1 1:1 2:1 3:1 4:1\n-1 2:1\n", "f");
  data.features.implicit = Implicit::kUnitNorm;
  write_snap(path_, data);
  EXPECT_EQ(bytes().size(), 13u + 2 * 4 + 2 * 4 + 5 * 4);
  EXPECT_THAT(dense_values(read_snap(path_).features, threads_),
              testing::ElementsAre(0.5f, 0.5f, 0.5f, 0.5f, 0, 1, 0, 0));
}

TEST_F(SnapFile, FailedWriteKeepsTheOldFile) {
  write_snap(path_, parse_svmlight("1 1:0.5 3:-2\n-1 2:4\n", "f"));
  const std::string good = bytes();
  DataSet too_wide;
  too_wide.features = {.rows = 0, .columns = std::int64_t{1} << 40};
  EXPECT_THROW(write_snap(path_, too_wide), ConfigError);
  EXPECT_EQ(bytes(), good);
}

TEST_F(SnapFile, DamageIsDetectedOrHarmless) {
  DataSet data = parse_svmlight("1 1:0.5 3:-2\n-1 2:4\n1 1:1 2:2 3:3 4:4\n-1\n", "f");
  write_snap(path_, data);
  const std::string good = bytes();
  std::mt19937 random(4);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    if (round % 3 == 0)
      text.resize(random() % text.size());
    else
      for (int i = 0; i < 2; ++i) text[random() % text.size()] = static_cast<char>(random());
    put(text);
    try {
      const DataSet read = read_snap(path_);
      check(read.features, threads_);
    } catch (const IoError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  put(good + "x");
  EXPECT_THROW(read_snap(path_), IoError);
}

}  // namespace
}  // namespace tutti::learn
