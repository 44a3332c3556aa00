#include "apps/tutti/train_request.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>

#include "tutti/core/error.h"
#include "tutti/models/cases.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;

TrainRequest parse(std::vector<std::string> words) {
  words.insert(words.begin(), "train");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
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
  const TrainRequest request = parse({"--model", "net.pt", "--set", "loss=mean_squared"});
  EXPECT_EQ(request.what.case_name, "script");
  EXPECT_EQ(request.what.settings[0].second, (fs::current_path() / "net.pt").string());
}

TEST_F(TrainRequestTest, WhatCannotBe) {
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
  const RunStart failed(changed);
  EXPECT_EQ(filters(), "64");
  failed.undo();
  EXPECT_EQ(filters(), "128");
  const RunStart went_on(changed);
  std::ofstream(folder / "metrics.csv") << "step,epoch,loss\n1,0.1,0.7\n";
  went_on.undo();
  EXPECT_EQ(filters(), "64");
}

TEST_F(TrainRequestTest, ARunGoesOnWithItsOwnCase) {
  const std::string runs = "runs=" + (base_ / "runs").string();
  const std::string folder = RunStart(parse({"hep", "--set", runs})).folder();
  EXPECT_EQ(parse({"hep", "--resume", folder}).what.case_name, "hep");
  EXPECT_THROW(parse({"cosmoflow", "--resume", folder}), ConfigError);
  EXPECT_THROW(parse({"mine.toml", "--resume", folder}), ConfigError);
}

}  // namespace
}  // namespace tutti::app
