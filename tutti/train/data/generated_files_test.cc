#include "tutti/train/data/generated_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class GeneratedFilesTest : public testing::Test {
 protected:
  GeneratedFilesTest() {
    std::string form = fs::temp_directory_path() / "made-XXXXXX";
    folder_ = mkdtemp(form.data());
  }
  ~GeneratedFilesTest() override { fs::remove_all(folder_); }

  // Files of one of two ranks: name, samples.
  std::vector<std::string> made(int rank, const GeneratedFiles& files) {
    std::vector<std::string> names;
    last_ = {0, 0};
    reports_.clear();
    generate_files(
        folder_ / "data", files, rank, 2,
        [&](double done, int all) {
          if (done == 0) ++starts_;
          last_ = {done, all};
          reports_.push_back(done);
        },
        [&](const GeneratedFile& file, const FileProgress& tell) {
          tell(0.5);
          names.push_back(file.path.filename().string() + " " + std::to_string(file.first) + "-" +
                          std::to_string(file.last) + kind(file.kind));
          std::ofstream(file.path) << "x";
        });
    return names;
  }
  static std::string kind(Split kind) {
    return kind == Split::kTrain ? "" : kind == Split::kTest ? " test" : " val";
  }
  fs::path folder_;
  std::pair<double, int> last_;
  std::vector<double> reports_;
  int starts_ = 0;
};

TEST_F(GeneratedFilesTest, AreAssignedRoundRobin) {
  const GeneratedFiles files{.train = 5, .test = 3, .per_file = 2, .digits = 4};
  EXPECT_THAT(made(0, files),
              ElementsAre("train-0000.h5 0-2", "train-0002.h5 4-5", "test-0001.h5 2-3 test"));
  EXPECT_EQ(last_, std::pair(3.0, 3));
  EXPECT_THAT(made(1, files), ElementsAre("train-0001.h5 2-4", "test-0000.h5 0-2 test"));
  EXPECT_EQ(last_, std::pair(2.0, 2));
}

TEST_F(GeneratedFilesTest, ExistingFilesAreNotGeneratedAgain) {
  const GeneratedFiles files{.train = 2, .test = 1};
  EXPECT_THAT(made(0, files), ElementsAre("train-00000.h5 0-1", "test-00000.h5 0-1 test"));
  EXPECT_THAT(made(0, files), ElementsAre());
  EXPECT_EQ(last_, std::pair(0.0, 0));  // and nothing is reported
  fs::remove(folder_ / "data/test-00000.h5");
  EXPECT_THAT(made(0, files), ElementsAre("test-00000.h5 0-1 test"));
  EXPECT_EQ(last_, std::pair(1.0, 1));
}

// In an existing directory, and for another number of samples.
TEST_F(GeneratedFilesTest, ValidationFilesAreAddedToExistingFiles) {
  made(0, {.train = 2, .test = 1});
  GeneratedFiles files{.train = 2, .test = 1, .val = 2, .per_file = 1, .val_prefix = val_prefix(2)};
  EXPECT_THAT(made(1, files), ElementsAre("train-00001.h5 1-2", "val-2-00000.h5 0-1 val"));
  EXPECT_THAT(made(0, files), ElementsAre("val-2-00001.h5 1-2 val"));
  files.val = 20;
  files.val_prefix = val_prefix(20);
  EXPECT_EQ(made(0, files).size(), 10u);
  EXPECT_TRUE(std::string("val-20-00000.h5").starts_with(val_prefix(20)));
  EXPECT_FALSE(std::string("val-20-00000.h5").starts_with(val_prefix(2)));
}

// A file may take an hour, so progress must not wait for the first one.
TEST_F(GeneratedFilesTest, ProgressIsReportedBeforeTheFirstFileAndInsideEach) {
  made(0, {.train = 3, .test = 1});
  EXPECT_THAT(reports_, ElementsAre(0, 0.5, 1, 1.5, 2));
  EXPECT_EQ(starts_, 1);
}

// The first run generates its first file until the second run has finished the next one. The second run neither
// generates the same file nor continues before it exists.
TEST_F(GeneratedFilesTest, TwoRunsFillAFolderTogether) {
  const GeneratedFiles files{.train = 3, .test = 1};
  std::latch first_has_begun(1), second_has_gone_on(1);
  std::mutex mutex;
  std::map<std::string, int> made;
  const auto make = [&](const GeneratedFile& file) {
    EXPECT_FALSE(fs::exists(file.path));
    std::ofstream(file.path) << "x";
    const std::lock_guard lock(mutex);
    ++made[file.path.filename().string()];
  };
  std::thread first([&] {
    generate_files(folder_, files, 0, 1, {}, [&](const GeneratedFile& file, const FileProgress&) {
      if (file.first == 0 && file.kind == Split::kTrain) {
        first_has_begun.count_down();
        second_has_gone_on.wait();
      }
      make(file);
    });
  });
  first_has_begun.wait();
  bool has_gone_on = false;
  generate_files(folder_, files, 0, 1, {}, [&](const GeneratedFile& file, const FileProgress&) {
    make(file);
    if (!std::exchange(has_gone_on, true)) second_has_gone_on.count_down();
  });
  EXPECT_TRUE(fs::exists(folder_ / "train-00000.h5"));
  first.join();
  EXPECT_EQ(made, (std::map<std::string, int>{{"train-00000.h5", 1},
                                              {"train-00001.h5", 1},
                                              {"train-00002.h5", 1},
                                              {"test-00000.h5", 1}}));
}

TEST_F(GeneratedFilesTest, DraftsOfRunsThatWereKilledAreRemoved) {
  fs::create_directories(folder_ / "data");
  for (const char* draft : {"train-00000.h5.part", "train-00000.h5.host-7-0.part", "other.part"})
    std::ofstream(folder_ / "data" / draft) << "x";
  made(0, {.train = 1, .test = 1});
  EXPECT_FALSE(fs::exists(folder_ / "data/train-00000.h5.part"));
  EXPECT_FALSE(fs::exists(folder_ / "data/train-00000.h5.host-7-0.part"));
  EXPECT_TRUE(fs::exists(folder_ / "data/other.part"));
}

TEST_F(GeneratedFilesTest, AFullDiskIsPredictedAfterTheFirstFile) {
  EXPECT_NO_THROW(check_room(folder_, 5e9, 6e9));
  EXPECT_THAT([&] { check_room(folder_, 7e9, 6e9); },
              testing::ThrowsMessage<IoError>(
                  testing::AllOf(testing::HasSubstr("6.0 GB free, and 7.0 GB more"),
                                 testing::HasSubstr("XDG_CACHE_HOME"))));
  int files = 0;
  auto make = [&](const GeneratedFile& file, const FileProgress&) {
    ++files;
    std::ofstream(file.path) << "x";
    fs::resize_file(file.path, std::uintmax_t{1} << 40);  // a sparse file
  };
  EXPECT_THROW(generate_files(folder_ / "large", {.train = 4096}, 0, 1, {}, make), IoError);
  EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace tutti::train
