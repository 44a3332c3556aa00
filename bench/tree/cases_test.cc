#include "bench/tree/cases.h"

#include <gtest/gtest.h>

#include "bench/tree/contenders.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

std::vector<TreeCase> parse(std::vector<std::string> options) {
  options.insert(options.begin(), "tree");
  std::vector<char*> arguments;
  for (std::string& option : options) arguments.push_back(option.data());
  TreeSettings settings;
  EXPECT_TRUE(parse_tree(static_cast<int>(arguments.size()), arguments.data(), settings));
  return cases_of(settings);
}

TEST(TreeCases, AllUnlessSomeAreNamed) {
  EXPECT_EQ(parse({}).size(), 4);
  const auto one = parse({"--cases", "boosting", "--baselines", "xgboost", "--rows", "500"});
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one[0].rows, 500);
  EXPECT_EQ(one[0].baselines, std::vector<std::string>{"xgboost"});
  EXPECT_THROW(parse({"--cases", "bushes"}), ConfigError);
}

TEST(TreeCases, DeprecatedOptionsAreAccepted) {
  testing::internal::CaptureStderr();
  const auto one = parse({"--cases", "forest", "--peers", "none", "--leaf-rows", "7"});
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_EQ(one.size(), 1);
  EXPECT_TRUE(one[0].baselines.empty());
  EXPECT_EQ(one[0].min_samples_leaf, 7);
  EXPECT_NE(log.find("option '--peers' is deprecated; use '--baselines'"), std::string::npos);
  EXPECT_NE(log.find("use '--min-samples-leaf'"), std::string::npos);
  EXPECT_THROW(parse({"--leaf-rows", "0"}), ConfigError);
}

TEST(Decays, ARowDependsOnItsIndexOnly) {
  const Decays few = make_decays(100, 7), more = make_decays(200, 7);
  EXPECT_TRUE(std::equal(few.values.begin(), few.values.end(), more.values.begin()));
  EXPECT_TRUE(std::equal(few.labels.begin(), few.labels.end(), more.labels.begin()));
  EXPECT_NE(make_decays(100, 8).values, few.values);
}

TEST(TreeBench, LearnsFromDecays) {
  TreeSettings settings;
  settings.repeats = 1;
  const TreeCase one = {"boosting", 5000, 0, 20, 31, {}};
  const TreeResult result =
      measure_tutti(one, settings, {make_decays(5000, 1), make_decays(5000, 2)});
  EXPECT_GT(result.auc, 0.7);
  EXPECT_LT(result.log_loss, 0.65);
}

}  // namespace
}  // namespace tutti::bench
