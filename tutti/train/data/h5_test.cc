#include "tutti/train/data/h5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
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

// As two runs of a job array that fill the same cache.
TEST(H5, TwoWritersOfOneFileDoNotInterfere) {
  const fs::path folder = fs::path(testing::TempDir()) / "h5_test_writers";
  fs::remove_all(folder);
  fs::create_directories(folder);
  H5File first(folder / "a.h5", H5File::Mode::kCreate);
  {
    H5File second(folder / "a.h5", H5File::Mode::kCreate);
    H5File given_up(folder / "a.h5", H5File::Mode::kCreate);
    second.append("label", {}, std::vector<float>{1});
    second.close();
  }
  first.append("label", {}, std::vector<float>{1});
  first.close();
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder)) left.push_back(entry.path());
  EXPECT_EQ(left, std::vector<fs::path>{folder / "a.h5"});
  EXPECT_EQ(H5File(folder / "a.h5", H5File::Mode::kRead).shape("label").at(0), 1);
}

TEST(H5, ValuesThatAreNotFiniteAreNamed) {
  const fs::path path = fs::path(testing::TempDir()) / "h5_test_nan.h5";
  {
    H5File file(path, H5File::Mode::kCreate);
    std::vector<float> values(20, 1.f);
    values[15] = std::numeric_limits<float>::quiet_NaN();  // row 7
    file.append("data", std::vector<std::int64_t>{2}, values);
    file.close();
  }
  const H5File file(path, H5File::Mode::kRead);
  std::vector<float> rows(6);
  file.read("data", 4, 3, rows);
  EXPECT_THAT(
      [&] { file.read("data", 5, 3, rows); },
      testing::ThrowsMessage<IoError>(testing::AllOf(
          testing::HasSubstr(kNotFinite), testing::HasSubstr(path.string()),
          testing::HasSubstr("row 7 (from 0) of data set 'data'"), testing::HasSubstr("nan"))));
  EXPECT_THAT([&] { file.shape("label"); },
              testing::ThrowsMessage<IoError>(testing::HasSubstr("it has: data")));
}

TEST(H5, RejectsFilesOfAnotherKind) {
  const fs::path path = fs::path(testing::TempDir()) / "h5_test_text.h5";
  std::ofstream(path) << "text";
  EXPECT_THROW(H5File(path, H5File::Mode::kRead), IoError);
  EXPECT_THROW(H5File("/no/such/file.h5", H5File::Mode::kRead), IoError);
  EXPECT_THROW(H5File("/no/such/file.h5", H5File::Mode::kCreate), IoError);
  EXPECT_THAT([] { H5File("/no/such/file.h5", H5File::Mode::kRead); },
              testing::ThrowsMessage<IoError>(testing::HasSubstr("No such file or directory")));
  EXPECT_TRUE(h5_files("/no/such/folder").empty());
  EXPECT_THROW(h5_files(path), IoError);
  fs::remove(path);
}

}  // namespace
}  // namespace tutti::train
