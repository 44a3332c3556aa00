#include "tutti/train/data/h5.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

TEST(H5, RowsComeBackInAnyOrder) {
  const fs::path path = fs::path(testing::TempDir()) / "h5_test.h5";
  fs::remove(path);
  const std::vector<std::int64_t> shape = {3, 20, 20};
  std::vector<float> rows(5 * 1200);
  std::iota(rows.begin(), rows.end(), 0.f);
  {
    H5File file(path, H5File::Mode::kCreate);
    file.append("data", shape, std::span(rows).first(2 * 1200));
    file.append("data", shape, std::span(rows).subspan(2 * 1200));
    file.append("label", {}, std::vector<float>{0, 1, 0, 1, 1});
    file.append("group/inside", {}, std::vector<float>{7});
    EXPECT_FALSE(fs::exists(path));
    file.close();
  }
  const H5File file(path, H5File::Mode::kRead);
  EXPECT_TRUE(file.has("label"));
  EXPECT_FALSE(file.has("weight"));
  EXPECT_TRUE(file.has("group/inside"));
  EXPECT_FALSE(file.has("other/inside"));
  EXPECT_EQ(file.shape("data"), (std::vector<std::int64_t>{5, 3, 20, 20}));
  std::vector<float> row(1200), labels(2);
  for (std::int64_t i : {4, 0, 2}) {
    file.read("data", i, 1, row);
    EXPECT_EQ(row, std::vector<float>(rows.begin() + i * 1200, rows.begin() + (i + 1) * 1200));
  }
  file.read("label", 3, 2, labels);
  EXPECT_EQ(labels, (std::vector<float>{1, 1}));
  EXPECT_NO_THROW(file.read("data", 5, 0, {}));
  EXPECT_THROW(file.read("data", 5, 1, row), IoError);
  EXPECT_THROW(file.read("weight", 0, 1, row), IoError);
  EXPECT_EQ(h5_files(path.parent_path()).front().extension(), ".h5");
}

TEST(H5, WhatIsNoFileOfItsKind) {
  const fs::path path = fs::path(testing::TempDir()) / "h5_test_text.h5";
  std::ofstream(path) << "text";
  EXPECT_THROW(H5File(path, H5File::Mode::kRead), IoError);
  EXPECT_THROW(H5File("/no/such/file.h5", H5File::Mode::kRead), IoError);
  EXPECT_THROW(H5File("/no/such/file.h5", H5File::Mode::kCreate), IoError);
  EXPECT_TRUE(h5_files("/no/such/folder").empty());
  fs::remove(path);
}

}  // namespace
}  // namespace tutti::train
