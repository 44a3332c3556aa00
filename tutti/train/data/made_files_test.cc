#include "tutti/train/data/made_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace tutti::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class MadeFilesTest : public testing::Test {
 protected:
  MadeFilesTest() {
    std::string form = fs::temp_directory_path() / "made-XXXXXX";
    folder_ = mkdtemp(form.data());
  }
  ~MadeFilesTest() override { fs::remove_all(folder_); }

  // What a rank of two makes: name, samples.
  std::vector<std::string> made(int rank, const MadeFiles& files) {
    std::vector<std::string> names;
    last_ = {0, 0};
    make_files(
        folder_ / "data", files, rank, 2,
        [&](int done, int all) {
          last_ = {done, all};
        },
        [&](const MadeFile& file) {
          names.push_back(file.path.filename().string() + " " + std::to_string(file.first) + "-" +
                          std::to_string(file.last) + (file.is_train ? "" : " test"));
          std::ofstream(file.path) << "x";
        });
    return names;
  }
  fs::path folder_;
  std::pair<int, int> last_;
};

TEST_F(MadeFilesTest, AreDealtInTurn) {
  const MadeFiles files{.train = 5, .test = 3, .per_file = 2, .digits = 4};
  EXPECT_THAT(made(0, files),
              ElementsAre("train-0000.h5 0-2", "train-0002.h5 4-5", "test-0001.h5 2-3 test"));
  EXPECT_EQ(last_, std::pair(3, 3));
  EXPECT_THAT(made(1, files), ElementsAre("train-0001.h5 2-4", "test-0000.h5 0-2 test"));
  EXPECT_EQ(last_, std::pair(2, 2));
}

TEST_F(MadeFilesTest, WhatIsThereIsNotMadeAgain) {
  const MadeFiles files{.train = 2, .test = 1};
  EXPECT_THAT(made(0, files), ElementsAre("train-00000.h5 0-1", "test-00000.h5 0-1 test"));
  EXPECT_THAT(made(0, files), ElementsAre());
  EXPECT_EQ(last_, std::pair(0, 0));  // and nothing is said
  fs::remove(folder_ / "data/test-00000.h5");
  EXPECT_THAT(made(0, files), ElementsAre("test-00000.h5 0-1 test"));
  EXPECT_EQ(last_, std::pair(1, 1));
}

}  // namespace
}  // namespace tutti::train
