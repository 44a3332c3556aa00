#include "tutti/tune/run/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tutti/core/random.h"
#include "tutti/core/test_error.h"
#include "tutti/os/text_file.h"

namespace tutti::tune {
namespace {

using testing::HasSubstr;

class TunerTest : public testing::Test {
 protected:
  TunerTest() {
    std::string name = testing::TempDir() + "/tutti_tuner_XXXXXX";
    folder_ = mkdtemp(name.data());
    EXPECT_EQ(pipe(stop_), 0);
    spec_.name = "s";
    spec_.space = {parse_parameter("x=0.0..1.0"), parse_parameter("kind=a,b")};
    spec_.objectives = {{"loss"}};
    set("trials", "6");
    set("parallel", "2");
    set("algorithm", "random");
  }
  ~TunerTest() override { std::filesystem::remove_all(folder_); }

  void set(const std::string& option, const std::string& value) {
    spec_.options.emplace_back(option, value);
  }
  void shell(const std::string& script) { spec_.command = {"sh", "-c", script}; }

  std::unique_ptr<Study> open_study() {
    auto file = std::make_shared<StudyFile>(folder_ / "study.db", StudyFile::Access::kWrite);
    const bool is_new = file->studies().empty();
    const StudyRecord record =
        is_new ? file->create("s", spec_.directions(), to_json(spec_)) : file->find("s");
    return std::make_unique<Study>(record.directions, sampler_of(spec_), pruner_of(spec_),
                                   StoredStudy{file, record});
  }

  History run() {
    const auto study = open_study();
    Tuner tuner(spec_, *study, folder_, {});
    tuner.recover();
    tuner.run(stop_[0]);
    return study->history();
  }

  std::filesystem::path folder_;
  int stop_[2] = {};
  StudySpec spec_;
};

TEST_F(TunerTest, PassesParametersByCommandEnvironmentAndFile) {
  shell(
      "test \"$TUTTI_PARAMETER_X\" = {x} && grep -q \"$TUTTI_PARAMETER_KIND\" config.json && echo "
      "loss={x}");
  const History history = run();
  EXPECT_EQ(history.count(TrialState::kComplete), 6u);
  for (const Trial& trial : history.trials())
    EXPECT_NEAR(trial.values[0], trial.find("x")->value, 1e-12);
}

TEST_F(TunerTest, RetriesAFailedTrialWithTheSameParameters) {
  shell("if [ -e failed ]; then echo loss=1; else touch failed; exit 3; fi");
  const History history = run();
  EXPECT_EQ(history.count(TrialState::kComplete), 6u);
  EXPECT_EQ(history.trials().size(), 6u);
}

TEST_F(TunerTest, StopsIfTheFirstTrialsFail) {
  set("retries", "0");
  shell("echo accuracy=1 > /dev/stdout; echo '{\"accuracy\": 1}'");
  EXPECT_THAT(error_of([&] { run(); }),
              testing::AllOf(HasSubstr("DDL-10-35"), HasSubstr("no value of loss"),
                             HasSubstr("reported: accuracy")));
  shell("exit 7");
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("exit code 7"));
}

TEST_F(TunerTest, NanIsAFailure) {
  set("retries", "0");
  shell("test $TUTTI_TRIAL = 0 && echo loss=1 || echo loss=nan");
  const History history = run();
  EXPECT_EQ(history.count(TrialState::kComplete), 1u);
  EXPECT_EQ(history.count(TrialState::kFailed), 5u);
}

TEST_F(TunerTest, KillsTrialsAtTheirTimeLimit) {
  set("retries", "0");
  set("trials", "2");
  set("trial_timeout", "0.5");
  shell("test $TUTTI_TRIAL = 0 && echo loss=1 || sleep 600");
  const History history = run();
  EXPECT_EQ(history.count(TrialState::kComplete), 1u);
  EXPECT_THAT(history.trial(1).system_attributes.at("tutti:failure_reason"),
              HasSubstr("time limit"));
}

TEST_F(TunerTest, PrunesBadTrials) {
  set("pruner", "median");
  set("parallel", "1");
  set("trials", "7");
  shell(
      "for step in 1 2; do echo step=$step loss=$TUTTI_TRIAL; done; test $TUTTI_TRIAL = 6 && sleep "
      "600; exit 0");
  const History history = run();
  EXPECT_EQ(history.trial(6).state, TrialState::kPruned);
  EXPECT_EQ(history.count(TrialState::kComplete), 6u);
}

TEST_F(TunerTest, StopRequeuesRunningTrials) {
  shell("if [ -e started ]; then echo loss=1; else touch started; sleep 600; fi");
  const auto study = open_study();
  Tuner* running = nullptr;
  TunerEvents events;
  events.started = [&](const Trial&) {
    if (running->running().size() == 2) {
      EXPECT_EQ(write(stop_[1], "x", 1), 1);
    }
  };
  Tuner tuner(spec_, *study, folder_, events);
  running = &tuner;
  EXPECT_FALSE(tuner.run(stop_[0]));
  EXPECT_EQ(study->history().count(TrialState::kWaiting), 2u);
}

TEST_F(TunerTest, GridEndsByItself) {
  spec_.space = {parse_parameter("n=1..3")};
  set("algorithm", "grid");
  set("trials", "0");
  shell("echo loss={n}");
  EXPECT_EQ(run().count(TrialState::kComplete), 3u);
}

// A tuner that is killed at any moment loses no trial and counts none twice.
TEST_F(TunerTest, KillAtAnyMomentLosesNothing) {
  set("trials", "40");
  set("retries", "100");
  shell("echo run >> runs; echo loss=1");
  open_study();
  Random random(2);
  for (int round = 0; round < 8; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      run();
      _exit(0);
    }
    usleep(static_cast<useconds_t>(20000 + random.below(150000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const History history = run();
  EXPECT_EQ(history.trials().size(), 40u);
  EXPECT_EQ(history.count(TrialState::kComplete), 40u);
  for (const Trial& trial : history.trials()) {
    EXPECT_EQ(trial.values.size(), 1u);
    EXPECT_EQ(trial.parameters.size(), 2u);
  }
}

}  // namespace
}  // namespace tutti::tune
