#include "tutti/models/script/rows.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <limits>

#include "tutti/core/error.h"

namespace tutti::models::script {
namespace {

namespace fs = std::filesystem;
using train::H5File;

class RowFilesTest : public testing::Test {
 protected:
  RowFilesTest() {
    std::string form = fs::temp_directory_path() / "rows-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~RowFilesTest() override { fs::remove_all(base_); }

  // Rows of `width` numbers that count from `first`; targets are their tens.
  void write(const char* name, int rows, float first, std::int64_t width = 2, int targets = -1) {
    H5File file(base_ / name, H5File::Mode::kCreate);
    std::vector<float> x, y;
    for (int i = 0; i < rows * static_cast<int>(width); ++i) x.push_back(first + float(i));
    for (int i = 0; i < (targets < 0 ? rows : targets); ++i) y.push_back(10 * (first + float(i)));
    file.append("x", std::vector<std::int64_t>{width}, x);
    file.append("y", std::vector<std::int64_t>{}, y);
    file.close();
  }
  fs::path base_;
};

TEST_F(RowFilesTest, RowsOfAllFilesByNumber) {
  write("train-0.h5", 3, 0);
  write("train-1.h5", 2, 100);
  write("test-0.h5", 1, 500);
  train::SampleCacheBudget budget(1e6);
  RowFiles rows(base_, "train", "x", "y", &budget);
  ASSERT_EQ(rows.size(), 5);
  EXPECT_EQ(rows.input_shape(), std::vector<std::int64_t>{2});
  EXPECT_TRUE(rows.target_shape().empty());
  const std::vector<std::int64_t> wanted = {4, 0, 4};
  for (int again = 0; again < 2; ++again) {  // from the file, then from memory
    std::vector<float> x(6), y(3);
    rows.inputs(wanted, x.data());
    rows.targets(wanted, y.data());
    EXPECT_EQ(x, (std::vector<float>{102, 103, 0, 1, 102, 103}));
    EXPECT_EQ(y, (std::vector<float>{1010, 0, 1010}));
  }
  EXPECT_EQ(RowFiles(base_ / "test-0.h5", "x").size(), 1);
}

TEST_F(RowFilesTest, MismatchedFilesAreReported) {
  EXPECT_THROW(RowFiles(base_, "train", "x", "y"), IoError);
  write("train-0.h5", 2, 0);
  EXPECT_THROW(RowFiles(base_, "train", "pixels", "y"), IoError);
  write("train-1.h5", 2, 0, 3);
  EXPECT_THROW(RowFiles(base_, "train", "x", "y"), IoError);
  write("train-1.h5", 2, 0, 2, 1);
  EXPECT_THROW(RowFiles(base_, "train", "x", "y"), IoError);
}

// Row 4 of the second file: parts find it wherever they look.
TEST_F(RowFilesTest, BadTargetsAndTheirOrigin) {
  write("train-0.h5", 3, 0);
  write("train-1.h5", 5, 100);
  RowFiles rows(base_, "train", "x", "y");
  const auto is_bad = [](float value) { return value == 1040; };
  EXPECT_EQ(rows.first_bad_target(0, 1, is_bad), 7);
  EXPECT_EQ(rows.first_bad_target(0, 2, is_bad), rows.size());  // the blocks of the first file
  EXPECT_EQ(rows.first_bad_target(1, 2, is_bad), 7);
  EXPECT_EQ(rows.first_bad_target(0, 1, [](float) { return false; }), rows.size());
  EXPECT_EQ(rows.origin(7).file, (base_ / "train-1.h5").string());
  EXPECT_EQ(rows.origin(7).row, 4);
}

TEST_F(RowFilesTest, RowsThatAreNotFiniteAreFound) {
  {
    H5File file(base_ / "train.h5", H5File::Mode::kCreate);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    file.append("x", std::vector<std::int64_t>{2}, std::vector<float>{1, 2, 3, 4, 5, nan});
    file.append("y", {}, std::vector<float>{0, nan, 1});
    file.close();
  }
  RowFiles rows(base_, "train", "x", "y");
  EXPECT_EQ(rows.first_bad_target(0, 1, [](float) { return false; }), 1);
  EXPECT_EQ(rows.first_bad_input(0, 1), 2);
  EXPECT_EQ(rows.first_bad_input(1, 2), rows.size());
}

}  // namespace
}  // namespace tutti::models::script
