#include "tutti/train/run/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "tutti/core/error.h"
#include "tutti/train/run/options.h"

namespace tutti::train {
namespace {

using testing::HasSubstr;

CaseInfo example() {
  return {"toy",
          "a toy",
          {{"filters", OptionType::kInt, "8", "width", "", 1, 4096}},
          {{"", {{"epochs", "4"}}}, {"tiny", {{"filters", "2"}, {"batch", "4"}}}}};
}

TEST(Config, CaseThenSizeThenUser) {
  const CaseInfo info = example();
  const OptionTable table = info.table();
  const Options options =
      resolve(info, table, {{"batch", "16"}, {"size", "tiny"}, {"learning_rate", "0.1"}});
  EXPECT_EQ(options.integer("filters"), 2);
  EXPECT_EQ(options.integer("batch"), 16);
  EXPECT_EQ(options.number("epochs"), 4);
  EXPECT_EQ(options.number("learning_rate"), 0.1);
  EXPECT_EQ(options.source("filters"), "case");
}

TEST(Config, RecipesDependOnAnOptionAndASize) {
  CaseInfo info = example();
  info.recipes = {{"optimizer", "sgd", "", {{"filters", "3"}, {"batch", "5"}}},
                  {"optimizer", "sgd", "paper", {{"batch", "6"}}}};
  const OptionTable table = info.table();
  auto with = [&](const Settings& settings) { return resolve(info, table, settings); };
  EXPECT_EQ(with({{"size", "tiny"}}).integer("filters"), 2);
  const Options tiny = with({{"optimizer", "sgd"}, {"size", "tiny"}});
  EXPECT_EQ(tiny.integer("filters"), 3);
  EXPECT_EQ(tiny.integer("batch"), 5);
  const Options paper = with({{"size", "paper"}, {"filters", "7"}, {"optimizer", "sgd"}});
  EXPECT_EQ(paper.integer("filters"), 7);
  EXPECT_EQ(paper.integer("batch"), 6);
  EXPECT_EQ(with({{"optimizer", "sgd"}, {"optimizer", "adam"}}).integer("filters"), 8);
}

TEST(Config, DeprecatedNamesSetTheCurrentOptions) {
  CaseInfo info = example();
  info.options.push_back(
      formerly("kind", choice("variant", "a", "variant of the network", {"a", "b"})));
  info.recipes = {{"variant", "b", "", {{"filters", "3"}}}};
  const OptionTable table = info.table();
  const Options options =
      resolve(info, table, {{"average_decay", "0.5"}, {"update", "slice"}, {"kind", "b"}});
  EXPECT_EQ(options.number("ema_decay"), 0.5);
  EXPECT_EQ(options.choice<UpdateScope>("update"), UpdateScope::kSharded);
  EXPECT_EQ(options.integer("filters"), 3);
  Settings saved = {{"stage", "/local"}, {"update", "slice"}, {"batch", "2"}, {"unknown", "1"}};
  use_current_names(table, saved);
  EXPECT_EQ(
      saved,
      (Settings{
          {"staging_dir", "/local"}, {"update", "sharded"}, {"batch", "2"}, {"unknown", "1"}}));
}

TEST(Config, RoundTrips) {
  const CaseInfo info = example();
  const OptionTable table = info.table();
  const Options options = resolve(info, table, {{"epochs", "2.5"}, {"data", "/a \"b\""}});
  const std::string file = testing::TempDir() + "config_test.toml";
  std::ofstream(file) << toml_text("toy", options);
  const Request request = read_toml(file);
  EXPECT_EQ(request.case_name, "toy");
  const Options again = resolve(info, table, request.settings);
  for (const OptionSpec& spec : table)
    EXPECT_EQ(again.text(spec.name), options.text(spec.name)) << spec.name;
}

TEST(Config, MistakesAreNamed) {
  const CaseInfo info = example();
  const OptionTable table = info.table();
  EXPECT_THROW(resolve(info, table, {{"learning_rat", "1"}}), ConfigError);
  EXPECT_THROW(resolve(info, table, {{"optimizer", "newton"}}), ConfigError);
  const std::string file = testing::TempDir() + "config_test_wrong.toml";
  std::ofstream(file) << "case = \"toy\"\nbatch = \n";
  try {
    read_toml(file);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 2"));
  }
  std::ofstream(file) << "batch = [1, 2]\n";
  EXPECT_THROW(read_toml(file), ConfigError);
}

}  // namespace
}  // namespace tutti::train
