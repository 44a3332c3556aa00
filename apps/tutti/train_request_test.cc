#include "apps/tutti/train_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "tutti/core/error.h"
#include "tutti/models/cases.h"
#include "tutti/os/text_file.h"
#include "tutti/runs/training_log.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;

TrainRequest parse(std::vector<std::string> args) {
  args.insert(args.begin(), "train");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  TrainRequest request;
  EXPECT_TRUE(parse_train(static_cast<int>(argv.size()), argv.data(), request));
  return request;
}

TEST(Cases, NoOptionHasTheNameOfAnother) {
  for (const train::CaseInfo* info : models::cases()) {
    std::set<std::string> names;
    for (const OptionSpec& option : info->table())
      EXPECT_TRUE(names.insert(option.name).second) << info->name << ": " << option.name;
  }
}

class TrainRequestTest : public testing::Test {
 protected:
  TrainRequestTest() {
    std::string form = fs::temp_directory_path() / "request-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~TrainRequestTest() override { fs::remove_all(base_); }
  fs::path base_;
};

TEST_F(TrainRequestTest, CaseAndSettings) {
  const TrainRequest request = parse(
      {"hep", "--size", "tiny", "--set", "batch=4", "--set", "optimizer=lamb", "--ranks", "3"});
  EXPECT_EQ(request.what.case_name, "hep");
  EXPECT_EQ(request.ranks, 3);
  EXPECT_EQ(request.what.settings.size(), 3u);
}

TEST_F(TrainRequestTest, ANetworkOfTheUser) {
  EXPECT_THROW(parse({"script"}), ConfigError);
  EXPECT_THROW(parse({"--model", (base_ / "net.pt").string()}), IoError);
  EXPECT_THROW(parse({"--model", base_.string()}), IoError);
  std::ofstream(base_ / "net.pt") << "network";
  const fs::path before = fs::current_path();
  fs::current_path(base_);
  const TrainRequest request = parse({"--model", "net.pt", "--set", "loss=mean_squared"});
  fs::current_path(before);
  EXPECT_EQ(request.what.case_name, "script");
  EXPECT_EQ(request.what.settings[0].second, (base_ / "net.pt").string());
}

std::string value_in(const fs::path& folder, const std::string& option) {
  for (const auto& [name, value] : train::read_toml(folder / "config.toml").settings)
    if (name == option) return value;
  return "missing";
}

TEST_F(TrainRequestTest, ARunKeepsItsNetworkAndAbsolutePaths) {
  std::ofstream(base_ / "net.pt") << "first";
  std::ofstream(base_ / "other.pt") << "other";
  const fs::path before = fs::current_path();
  fs::current_path(base_);
  const fs::path folder = fs::absolute(RunStart(parse({"script", "--set", "model=net.pt", "--set",
                                                       "data=./samples", "--set", "runs=runs"}))
                                           .folder());
  fs::current_path(before);
  EXPECT_EQ(value_in(folder, "model"), (base_ / "net.pt").string());
  EXPECT_EQ(value_in(folder, "data"), (base_ / "samples").string());
  EXPECT_EQ(value_in(folder, "staging_dir"), "");
  std::ofstream(base_ / "net.pt") << "saved again";
  EXPECT_EQ(os::read_text(folder / "network.pt"), "first");
  fs::remove(base_ / "net.pt");
  RunStart(parse({"--resume", folder.string()}));  // from another directory, without the original
  EXPECT_EQ(os::read_text(folder / "network.pt"), "first");
  const OptionTable table = models::find_case("script").table();
  Options options(table);
  use_kept_network(folder, options);
  EXPECT_EQ(options.text("model"), folder / "network.pt");
  EXPECT_THROW(RunStart(parse({"--resume", folder.string(), "--model", base_ / "other.pt"})),
               ConfigError);
}

// config.toml of the release before the options were renamed.
TEST_F(TrainRequestTest, ARunSavedWithOldNamesIsResumed) {
  std::ofstream(base_ / "config.toml")
      << "case = \"gan3d\"\nstage = \"/local\"\nkeep_bytes = \"1KiB\"\naverage_decay = 0.5\n"
         "rate_batch = 64\nrate_scaling = \"sqrt\"\nfinal_rate = 0.25\nstep_at = \"0.5\"\n"
         "step_factor = \"0.2\"\ntrust = 0.01\nbad_steps = 7\nupdate = \"slice\"\nflip = 0.125\n"
         "judged_weight = 3.0\n";
  testing::internal::CaptureStderr();
  RunStart(parse({"--resume", base_.string(), "--set", "epochs=9"}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (const auto& [name, value] :
       train::settings("staging_dir=/local cache_bytes=1KiB ema_decay=0.5 base_batch=64 "
                       "lr_scaling=sqrt final_lr_ratio=0.25 lr_milestones=0.5 lr_gamma=0.2 "
                       "trust_coefficient=0.01 max_nonfinite_steps=7 update=sharded "
                       "label_flip=0.125 epochs=9"))
    EXPECT_EQ(value_in(base_, name), value) << name;
  EXPECT_EQ(value_in(base_, "adversarial_weight"), "3");
  EXPECT_EQ(value_in(base_, "stage"), "missing");
}

// Runs from before there were copies get theirs when they are resumed.
TEST_F(TrainRequestTest, AnOlderRunGetsItsCopyWhenResumed) {
  std::ofstream(base_ / "net.pt") << "network";
  std::ofstream(base_ / "config.toml")
      << "case = \"script\"\nmodel = \"" << (base_ / "net.pt").string() << "\"\n";
  RunStart(parse({"--resume", base_.string()}));
  EXPECT_EQ(os::read_text(base_ / "network.pt"), "network");
}

TEST_F(TrainRequestTest, OneProcessTrainsARun) {
  const RunStart first(parse({"hep", "--set", "runs=" + (base_ / "runs").string()}));
  const std::string again = first.folder().string();
  EXPECT_THAT([&] { RunStart(parse({"--resume", again, "--set", "filters=16"})); },
              testing::ThrowsMessage<IoError>(testing::AllOf(
                  testing::HasSubstr("DDL-7-97"),
                  testing::HasSubstr("process " + std::to_string(getpid()) + " on "))));
  EXPECT_NE(value_in(first.folder(), "filters"), "16");  // nothing was written
}

TEST_F(TrainRequestTest, OptionsThatWouldBeIgnoredAreRefused) {
  for (const char* strategy : {"strategy=async", "strategy=hybrid", "strategy=local_sgd"})
    for (const char* ignored : {"lag=1", "update=sharded"})
      EXPECT_THROW(parse({"hep", "--set", strategy, "--set", ignored}), ConfigError) << ignored;
  parse({"climate-segment", "--set", "strategy=async"});  // whose own default is lag 1
  EXPECT_THROW(parse({"climate-segment", "--set", "strategy=async", "--set", "lag=1"}),
               ConfigError);
  parse({"hep", "--set", "lag=1"});
  parse({"hep", "--set", "update=sharded"});
  EXPECT_THROW(parse({"hep", "--set", "learning_rate=nan"}), ConfigError);
}

TEST_F(TrainRequestTest, AMisspelledCaseIsSuggested) {
  EXPECT_THAT([] { parse({"hpe"}); },
              testing::ThrowsMessage<ConfigError>(testing::HasSubstr("Did you mean hep?")));
}

TEST_F(TrainRequestTest, AMissingDataDirectoryIsNamed) {
  const OptionTable table = models::find_case("hep").table();
  Options options(table);
  check_data_folder(options);
  options.set("data", (base_ / "none").string());
  EXPECT_THAT([&] { check_data_folder(options); },
              testing::ThrowsMessage<IoError>(
                  testing::AllOf(testing::HasSubstr((base_ / "none").string()),
                                 testing::HasSubstr("No such file or directory"))));
}

TEST_F(TrainRequestTest, ConflictingOptionsAreRejected) {
  EXPECT_THROW(parse({"nothing"}), ConfigError);
  EXPECT_THROW(parse({"hep", "--set", "batch"}), ConfigError);
  EXPECT_THROW(parse({"hep", "--set", "batch=0"}), ConfigError);
  EXPECT_THROW(parse({"hep", "--set", "filterz=4"}), ConfigError);
}

TEST_F(TrainRequestTest, AFileThenTheFolderThenAgain) {
  std::ofstream(base_ / "mine.toml")
      << "case = \"hep\"\nfilters = 16\nruns = \"" << (base_ / "runs").string() << "\"\n";
  const fs::path folder =
      RunStart(parse({(base_ / "mine.toml").string(), "--set", "epochs=7"})).folder();
  EXPECT_EQ(folder.parent_path(), base_ / "runs");
  const TrainRequest again = parse({"--resume", folder.string()});
  EXPECT_EQ(RunStart(again).folder(), folder);
  const train::Request read = train::read_toml(folder / "config.toml");
  bool has_filters = false, has_epochs = false;
  for (const auto& [name, value] : read.settings) {
    has_filters |= name == "filters" && value == "16";
    has_epochs |= name == "epochs" && value == "7";
  }
  EXPECT_TRUE(has_filters && has_epochs);
}

TEST_F(TrainRequestTest, OptionsThatFailedBeforeAStepAreNotKept) {
  const std::string runs = "runs=" + (base_ / "runs").string();
  const fs::path folder = RunStart(parse({"hep", "--set", runs})).folder();
  auto filters = [&] {
    for (const auto& [name, value] : train::read_toml(folder / "config.toml").settings)
      if (name == "filters") return value;
    return std::string("128");
  };
  const TrainRequest changed = parse({"--resume", folder.string(), "--set", "filters=64"});
  {
    const RunStart failed(changed);
    EXPECT_EQ(filters(), "64");
    failed.undo();
    EXPECT_EQ(filters(), "128");
  }
  const RunStart went_on(changed);
  std::ofstream(folder / "metrics.csv") << "step,epoch,loss\n1,0.1,0.7\n";
  went_on.undo();
  EXPECT_EQ(filters(), "64");
}

TEST_F(TrainRequestTest, ARunContinuesWithItsCase) {
  const std::string runs = "runs=" + (base_ / "runs").string();
  const std::string folder = RunStart(parse({"hep", "--set", runs})).folder();
  EXPECT_EQ(parse({"hep", "--resume", folder}).what.case_name, "hep");
  EXPECT_THROW(parse({"cosmoflow", "--resume", folder}), ConfigError);
  EXPECT_THROW(parse({"mine.toml", "--resume", folder}), ConfigError);
}

}  // namespace
}  // namespace tutti::app
