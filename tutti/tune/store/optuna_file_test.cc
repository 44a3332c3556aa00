#include "tutti/tune/store/optuna_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tutti/core/test_error.h"

namespace tutti::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path fresh_path(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(path);
  return path;
}

PortableStudy example(const std::string& name) {
  Trial trial;
  trial.state = TrialState::kPruned;
  trial.parameters = {
      {"x", std::make_shared<const Distribution>(Distribution::real(1e-3, 1, true)), 0.25},
      {"kind", std::make_shared<const Distribution>(Distribution::categorical({"\"a\"", "null"})),
       1}};
  trial.values = {-std::numeric_limits<double>::infinity(), 2};
  trial.reports = {{0, 1.5}, {4, std::nan("")}, {5, std::numeric_limits<double>::infinity()}};
  trial.constraints = {0.5, -1};
  trial.user_attributes = {{"note", "[1, 2]"}};
  trial.system_attributes = {{"fixed_params", "{}"}};
  trial.started = 1.9e9 + 0.25;
  trial.ended = 1.9e9 + 2.5;
  Trial waiting;
  waiting.number = 1;
  waiting.state = TrialState::kWaiting;
  return {name,
          {Direction::kMinimize, Direction::kMaximize},
          {trial, waiting},
          {{"data", "\"hep\""}},
          {}};
}

TEST(OptunaFile, ReturnsWhatWasWritten) {
  for (const OptunaSchema schema : {OptunaSchema::kVersion30, OptunaSchema::kVersion32}) {
    const auto path = fresh_path("optuna_round.db");
    write_optuna(path, {example("first")}, schema);
    write_optuna(path, {example("second")}, schema);
    const std::vector<PortableStudy> studies = read_optuna(path);
    ASSERT_EQ(studies.size(), 2U);
    EXPECT_EQ(studies[1].name, "second");
    EXPECT_THAT(studies[0].directions, ElementsAre(Direction::kMinimize, Direction::kMaximize));
    EXPECT_EQ(studies[0].user_attributes.at("data"), "\"hep\"");
    ASSERT_EQ(studies[0].trials.size(), 2U);
    const Trial expected = example("").trials[0], &trial = studies[0].trials[0];
    EXPECT_EQ(trial.state, expected.state);
    EXPECT_EQ(trial.values, expected.values);
    EXPECT_EQ(trial.constraints, expected.constraints);
    EXPECT_EQ(trial.user_attributes, expected.user_attributes);
    EXPECT_EQ(trial.system_attributes, expected.system_attributes);
    EXPECT_EQ(trial.started, expected.started);
    EXPECT_EQ(trial.ended, expected.ended);
    ASSERT_EQ(trial.parameters.size(), 2U);
    EXPECT_EQ(*trial.parameters[0].distribution, *expected.parameters[0].distribution);
    EXPECT_EQ(trial.parameters[1].value, 1);
    ASSERT_EQ(trial.reports.size(), 3U);
    EXPECT_TRUE(std::isnan(trial.reports[1].value));
    EXPECT_EQ(trial.reports[2].value, expected.reports[2].value);
    EXPECT_EQ(studies[0].trials[1].state, TrialState::kWaiting);
  }
}

TEST(OptunaFile, FailsTrialsThatWereRunning) {
  PortableStudy study = example("running");
  study.trials[1].state = TrialState::kRunning;
  const auto path = fresh_path("optuna_running.db");
  write_optuna(path, {study});
  EXPECT_EQ(read_optuna(path)[0].trials[1].state, TrialState::kFailed);
}

TEST(OptunaFile, RejectsOtherFilesAndTakenNames) {
  const auto path = fresh_path("optuna_taken.db");
  EXPECT_THAT(error_of([&] { read_optuna(path); }), HasSubstr("DDL-10-28"));
  write_optuna(path, {example("one")});
  EXPECT_THAT(error_of([&] { write_optuna(path, {example("two"), example("one")}); }),
              HasSubstr("'one' exists"));
  EXPECT_EQ(read_optuna(path).size(), 1U) << "nothing is added";
  const auto text = fresh_path("optuna_text.db");
  std::ofstream(text)
      << "This is a text of more than a hundred bytes, which SQLite does not take for a database. "
         "It has no header and no pages.";
  EXPECT_THAT(error_of([&] { read_optuna(text); }), HasSubstr("DDL-10-28"));
}

}  // namespace
}  // namespace tutti::tune
