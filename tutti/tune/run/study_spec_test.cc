#include "tutti/tune/run/study_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tutti/core/test_error.h"
#include "tutti/tune/run/command_template.h"
#include "tutti/tune/run/trial_process.h"

namespace tutti::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SpecFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    path_ = testing::TempDir() + "/tutti_spec_" + std::to_string(getpid());
    std::ofstream(path_) << text;
    return path_;
  }
  ~SpecFile() override { std::filesystem::remove(path_); }
  std::filesystem::path path_;
};

TEST_F(SpecFile, ReadsToml) {
  const StudyFileText text = read_study_toml(write(R"(
name = "digits"
command = ["python3", "train.py", "--rate={rate}", "--momentum={momentum}"]
metric = ["loss", "accuracy"]
direction = "minimize,maximize"
trials = 30
[space]
optimizer = ["sgd", "adam"]
rate = "log:1e-4..1e-1"
momentum = { range = "0.0..0.99", if = { optimizer = "sgd" } }
[set]
epochs = 3
)"));
  const StudySpec& spec = text.spec;
  EXPECT_EQ(spec.name, "digits");
  EXPECT_THAT(spec.command,
              ElementsAre("python3", "train.py", "--rate={rate}", "--momentum={momentum}"));
  ASSERT_EQ(spec.space.size(), 3u);
  EXPECT_EQ(spec.space.back().name, "momentum");
  EXPECT_EQ(spec.space.back().parent, "optimizer");
  EXPECT_EQ(options_of(spec).integer("trials"), 30);
  EXPECT_EQ(options_of(spec).text("metric"), "loss,accuracy");
  EXPECT_THAT(text.settings, ElementsAre(std::pair<std::string, std::string>("epochs", "3")));
}

TEST_F(SpecFile, NamesTheLineOfAnError) {
  EXPECT_THAT(error_of([&] { read_study_toml(write("trials = 3\ntrails = 4\n")); }),
              HasSubstr("line 2: unknown key 'trails'"));
  EXPECT_THAT(error_of([&] { read_study_toml(write("a = = 3\n")); }), HasSubstr("DDL-10-30"));
  EXPECT_THAT(error_of([&] { read_study_toml("/nonexistent.toml"); }), HasSubstr("DDL-10-30"));
  EXPECT_THAT(error_of([&] { read_study_toml(write("[space]\nx = { if = { y = 1 } }\n")); }),
              HasSubstr("no 'range'"));
  EXPECT_THAT(error_of([&] { read_study_toml(write("[space]\nx = \"3..1\"\n")); }),
              HasSubstr("DDL-10-01"));
}

TEST_F(SpecFile, ReadsSearchRequests) {
  const StudySpec spec = read_search_request(write(R"({
    "modelSpec": {"execStart": "..."},
    "algoDef": {"algorithm": "Hyperband", "maxRunTime": 2, "maxJobNum": -1, "maxParalleJobNum": 3,
                "objectiveMetric": "loss", "objective": "minimize"},
    "hyperParams": [
      {"name": "rate", "type": "Range", "dataType": "double", "minDbVal": 0.01, "maxDbVal": 0.1},
      {"name": "hidden", "type": "Range", "dataType": "int", "minIntVal": 16, "maxIntVal": 64, "step": 16},
      {"name": "optimizer", "type": "Discrete", "dataType": "str", "discreteStrVal": ["Adam", "Ftrl"]}]})"));
  EXPECT_EQ(options_of(spec).integer("parallel"), 3);
  EXPECT_EQ(options_of(spec).number("timeout"), 120);
  EXPECT_EQ(options_of(spec).text("pruner"), "hyperband");
  EXPECT_EQ(spec.objectives[0].metric, "loss");
  ASSERT_EQ(spec.space.size(), 3u);
  EXPECT_EQ(spec.space[1].distribution, Distribution::integer(16, 64, false, 16));
  EXPECT_THAT(spec.space[2].distribution.choices, ElementsAre("\"Adam\"", "\"Ftrl\""));
  EXPECT_THAT(error_of([&] { read_search_request(write("{}")); }), HasSubstr("DDL-10-31"));
}

TEST(StudySpec, JsonRoundTrip) {
  StudySpec spec;
  spec.space = {parse_parameter("kind=a,b"), parse_parameter("x=0.0..1.0")};
  add_condition(spec.space[1], spec.space, "kind", {"b"});
  spec.objectives = {{"loss", Direction::kMinimize}, {"", Direction::kMaximize}};
  spec.command = {"run", "{x}"};
  spec.options = {{"trials", "7"}};
  EXPECT_EQ(to_json(study_spec_from_json(to_json(spec))), to_json(spec));
  EXPECT_THAT(error_of([] { study_spec_from_json("{}"); }), HasSubstr("DDL-10-32"));
}

TEST(StudySpec, RejectsIncompleteStudies) {
  StudySpec spec;
  spec.space = {parse_parameter("x=0.0..1.0")};
  spec.objectives = {{"loss"}};
  EXPECT_THAT(error_of([&] { check(spec); }), HasSubstr("no program"));
  spec.command = {"run", "{y}"};
  EXPECT_THAT(error_of([&] { check(spec); }), HasSubstr("DDL-10-33"));
  spec.command = {"run", "{x}", "{\"y\": 1}"};
  check(spec);
  spec.space.push_back(spec.space[0]);
  EXPECT_THAT(error_of([&] { check(spec); }), HasSubstr("occurs twice"));
}

TEST(Command, ReplacesPlaceholdersAndDropsInactiveWords) {
  History history;
  history.add({});
  history.set_parameter(0, "x", Distribution::real(0, 1), 0.5);
  history.set_parameter(0, "kind", Distribution::categorical({"\"a b\""}), 0);
  const std::vector<std::string> command = {"run",          "--x={x}", "{kind}",       "--y={y}",
                                            "{\"a\": {x}}", "{trial}", "{directory}/o"};
  EXPECT_THAT(command_of(command, history.trial(0), "/d", ""),
              ElementsAre("run", "--x=0.5", "a b", "{\"a\": 0.5}", "0", "/d/o"));
}

}  // namespace
}  // namespace tutti::tune
