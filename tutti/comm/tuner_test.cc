#include "tutti/comm/tuning/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <mutex>

#include "tutti/comm/testing.h"
#include "tutti/comm/tuning/tuning.h"

namespace tutti::comm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Tuner : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tuner_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Description of the choices by rank 0 of a job with these hosts, after all ranks have reduced with them.
  std::string describe(const std::vector<int>& ranks_per_host, const std::string& more = "") {
    std::string text;
    run_ranks(
        host_names(ranks_per_host),
        [&](Communicator& communicator) {
          for (const std::int64_t count : {1, 300, 5000, 70000}) {
            std::vector<float> values(static_cast<std::size_t>(count), 1);
            communicator.all_reduce(Buffer::of(std::span(values)));
            EXPECT_EQ(values.back(), static_cast<float>(communicator.size()));
          }
          const auto group = communicator.split(communicator.rank() % 2);
          group->barrier();
          if (communicator.rank() == 0) text = communicator.description();
        },
        test_options("-tune_seconds 0.05 -tuning_cache " + folder_.string() + " " + more));
    return text;
  }
  std::vector<fs::path> files() const {
    return {fs::directory_iterator(folder_), fs::directory_iterator()};
  }
  fs::path folder_;
};

TEST_F(Tuner, MeasuresOnceThenReads) {
  const std::string first = describe({2, 2});
  EXPECT_THAT(first, HasSubstr("measured in"));
  EXPECT_THAT(first, HasSubstr("fastest measured at 1024 bytes"));
  ASSERT_EQ(files().size(), 1u);
  const std::string kept = read_tuning(files()[0]);
  const std::string second = describe({2, 2});
  EXPECT_THAT(second, HasSubstr("read from " + files()[0].string()));
  EXPECT_EQ(read_tuning(files()[0]), kept);
  // The same choices, whether measured or read from the cache.
  const std::string choices = first.substr(0, first.find("choices "));
  EXPECT_EQ(second.substr(0, choices.size()), choices);
}

TEST_F(Tuner, BrokenFileIsMeasuredAgain) {
  describe({2, 1});
  ASSERT_EQ(files().size(), 1u);
  std::ofstream(files()[0]) << "{ not json";
  EXPECT_THAT(describe({2, 1}), HasSubstr("measured in"));
  EXPECT_THAT(read_tuning(files()[0]), HasSubstr("\"version\""));
}

TEST_F(Tuner, OneHostFindsItsEagerLimit) {
  EXPECT_THAT(describe({3}), HasSubstr("measured in"));
  ASSERT_EQ(files().size(), 1u);
  const std::string kept = read_tuning(files()[0]);
  EXPECT_THAT(kept, HasSubstr("\"eager_bytes\""));
  EXPECT_THAT(kept, Not(HasSubstr("\"eager_bytes\": -1")));
  describe({3}, "-eager_bytes 2KiB");
}

TEST_F(Tuner, NothingToMeasure) {
  for (const char* options :
       {"-mode r", "-algorithm direct,ring", "-tune_seconds 0", "-reproducible 1"}) {
    EXPECT_THAT(describe({2, 2}, options), Not(HasSubstr("measured"))) << options;
  }
  EXPECT_THAT(describe({1}), Not(HasSubstr("measured")));
  EXPECT_TRUE(files().empty());
}

TEST_F(Tuner, StoresNothingWithoutACache) {
  EXPECT_THAT(describe({2, 2}, "-tuning_cache none"), HasSubstr("measured in"));
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace tutti::comm
