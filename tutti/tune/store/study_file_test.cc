#include "tutti/tune/store/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tutti/core/random.h"
#include "tutti/core/test_error.h"
#include "tutti/tune/store/study.h"

namespace tutti::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StudyFileTest : public testing::Test {
 protected:
  StudyFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tutti_study_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~StudyFileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "study.db"; }
  StudyFile open(StudyFile::Access access = StudyFile::Access::kWrite) { return {path(), access}; }

  std::filesystem::path folder_;
};

std::unique_ptr<Study> start_study(const std::filesystem::path& path, bool is_new) {
  auto file = std::make_shared<StudyFile>(path, StudyFile::Access::kWrite);
  const StudyRecord record =
      is_new ? file->create("s", {Direction::kMinimize}, "{}") : file->find("s");
  return std::make_unique<Study>(record.directions, make_random_sampler(1), make_no_pruner(),
                                 StoredStudy{file, record});
}

TEST_F(StudyFileTest, LoadsWhatWasStored) {
  {
    const auto study = start_study(path(), true);
    const std::int64_t number = study->ask();
    study->suggest(number, "x", Distribution::real(0, 1));
    study->suggest(number, "kind", Distribution::categorical({"\"a\"", "null"}));
    study->report(number, 3, 0.5);
    study->report(number, 4, std::nan(""));
    study->set_attribute(number, false, "note", "\"text\"");
    study->set_constraints(number, {0.5, -1});
    study->tell(number, TrialState::kComplete, {INFINITY});
    study->enqueue({{"x", "0.25"}});
  }
  StudyFile file = open(StudyFile::Access::kRead);
  const StudyRecord record = file.find("s");
  EXPECT_THAT(record.directions, ElementsAre(Direction::kMinimize));
  const History history = file.load(record);
  ASSERT_EQ(history.trials().size(), 2u);
  const Trial& trial = history.trial(0);
  EXPECT_EQ(trial.state, TrialState::kComplete);
  EXPECT_THAT(trial.values, ElementsAre(INFINITY));
  EXPECT_THAT(trial.constraints, ElementsAre(0.5, -1));
  EXPECT_EQ(*trial.find("x")->distribution, Distribution::real(0, 1));
  EXPECT_THAT(trial.find("kind")->distribution->choices, ElementsAre("\"a\"", "null"));
  ASSERT_EQ(trial.reports.size(), 2u);
  EXPECT_EQ(trial.reports[0].value, 0.5);
  EXPECT_TRUE(std::isnan(trial.reports[1].value));
  EXPECT_EQ(trial.user_attributes.at("note"), "\"text\"");
  EXPECT_GT(trial.ended, trial.started);
  EXPECT_EQ(history.trial(1).state, TrialState::kWaiting);
}

TEST_F(StudyFileTest, HasOneWriterAndManyReaders) {
  StudyFile writer = open();
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("DDL-10-20"));
  writer.create("one", {Direction::kMaximize}, "{}");
  EXPECT_EQ(open(StudyFile::Access::kRead).studies().size(), 1u);
  EXPECT_EQ(open(StudyFile::Access::kRead).find("one").directions[0], Direction::kMaximize);
}

TEST_F(StudyFileTest, ReportsInvalidFilesAndNames) {
  EXPECT_THAT(error_of([&] { open(StudyFile::Access::kRead); }), HasSubstr("DDL-10-21"));
  std::ofstream(path()) << std::string(5000, 'x');
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("DDL-10-21"));
  std::filesystem::remove(path());
  StudyFile file = open();
  file.create("one", {Direction::kMinimize}, "{}");
  EXPECT_THAT(error_of([&] { file.create("one", {Direction::kMinimize}, "{}"); }),
              HasSubstr("DDL-10-23"));
  EXPECT_THAT(error_of([&] { file.find("two"); }), HasSubstr("Its studies: one"));
}

TEST_F(StudyFileTest, RemovesAStudyWithItsTrials) {
  start_study(path(), true)->ask();
  StudyFile file = open();
  file.remove("s");
  const StudyRecord record = file.create("s", {Direction::kMinimize}, "{}");
  EXPECT_EQ(file.load(record).trials().size(), 0u);
}

// A child runs trials and acknowledges each change through a pipe until it is killed.
TEST_F(StudyFileTest, KillLosesNoAcknowledgedChange) {
  start_study(path(), true);
  Random random(1);
  std::size_t expected = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto study = start_study(path(), false);
      for (;;) {
        const std::int64_t number = study->ask({{"x", Distribution::real(0, 1)}});
        study->tell(number, TrialState::kComplete, {1});
        if (write(ends[1], "+", 1) != 1) _exit(1);
      }
    }
    close(ends[1]);
    char byte;
    const std::size_t acknowledged = random.below(12) + 1;
    for (std::size_t i = 0; i < acknowledged; ++i) ASSERT_EQ(read(ends[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    expected += acknowledged;
    while (read(ends[0], &byte, 1) == 1) ++expected;
    close(ends[0]);
    StudyFile file = open(StudyFile::Access::kRead);
    const History history = file.load(file.find("s"));
    EXPECT_GE(history.count(TrialState::kComplete), expected);
    EXPECT_LE(history.count(TrialState::kComplete), expected + 1);
    expected = history.count(TrialState::kComplete);
    for (const Trial& trial : history.trials())
      EXPECT_EQ(trial.parameters.size(), 1u) << trial.number;
  }
}

TEST_F(StudyFileTest, FullDiskIsReportedAndLosesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto study = start_study(path(), true);
    try {
      for (;;)
        study->tell(study->ask({{"x", Distribution::real(0, 1)}}), TrialState::kComplete, {1});
    } catch (const Error& error) {
      _exit(error.code() == "DDL-10-22" ? 0 : 1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  StudyFile file = open();
  EXPECT_GT(file.load(file.find("s")).count(TrialState::kComplete), 5u);
}

TEST_F(StudyFileTest, ThreadsRunStudiesOfOneFile) {
  const auto file = std::make_shared<StudyFile>(path(), StudyFile::Access::kWrite);
  constexpr int kTrials = 20;
  const auto run = [&](const std::string& name) {
    const StudyRecord record = file->create(name, {Direction::kMinimize}, "{}");
    Study study(record.directions, make_random_sampler(1), make_no_pruner(),
                StoredStudy{file, record});
    for (int i = 0; i < kTrials; ++i) {
      const std::int64_t number = study.ask();
      study.suggest(number, "x" + name, Distribution::real(0, 1));
      study.tell(number, TrialState::kComplete, {1});
    }
  };
  std::thread first(run, "a"), second(run, "b");
  first.join();
  second.join();
  for (const char* name : {"a", "b"}) {
    const History history = file->load(file->find(name));
    EXPECT_EQ(history.count(TrialState::kComplete), 20u);
    EXPECT_THAT(history.column_names(), ElementsAre(std::string("x") + name));
  }
}

TEST_F(StudyFileTest, ForkedProcessCannotUseTheFile) {
  StudyFile file = open();
  const pid_t child = fork();
  if (child == 0) _exit(error_of([&] { file.studies(); }).starts_with("DDL-10-20") ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(file.studies().empty());
}

}  // namespace
}  // namespace tutti::tune
