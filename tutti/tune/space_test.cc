#include "tutti/tune/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tutti/core/test_error.h"

namespace tutti::tune {
namespace {

using testing::ElementsAre;

std::string code_of(const std::string& parameter) {
  try {
    parse_parameter(parameter);
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

TEST(Space, ParsesRangesAndChoices) {
  EXPECT_EQ(parse_parameter("lr=log:1e-4..1e-1").distribution,
            Distribution::real(1e-4, 1e-1, true));
  EXPECT_EQ(parse_parameter("layers=2..8").distribution, Distribution::integer(2, 8));
  EXPECT_EQ(parse_parameter("width=64..512:64").distribution,
            Distribution::integer(64, 512, false, 64));
  EXPECT_EQ(parse_parameter("dropout=0.0..0.5").distribution, Distribution::real(0, 0.5));
  EXPECT_EQ(parse_parameter("x=float:0..1").distribution, Distribution::real(0, 1));
  EXPECT_EQ(parse_parameter("n=log:1..1000").distribution, Distribution::integer(1, 1000, true));
  EXPECT_EQ(parse_parameter("x=-5.5..-1").distribution, Distribution::real(-5.5, -1));
  EXPECT_THAT(parse_parameter("optimizer=sgd,adam").distribution.choices,
              ElementsAre("\"sgd\"", "\"adam\""));
  EXPECT_THAT(parse_parameter("batch=16,true,1.5,none").distribution.choices,
              ElementsAre("16", "true", "1.5", "\"none\""));
}

TEST(Space, RejectsInvalidParameters) {
  for (const char* text : {"lr=1..0", "lr=log:0..1", "lr=log:0.0..1.0", "lr=0.0..inf",
                           "n=log:1..8:2", "n=0..10000000000000000000", "x=0.0..1.0:-1"}) {
    EXPECT_EQ(code_of(text), "DDL-10-01") << text;
  }
  for (const char* text :
       {"lr", "=1..2", "lr=", "lr=1..2..3", "lr=a..b", "lr=log:1", "n=1..8:2:2"}) {
    EXPECT_EQ(code_of(text), "DDL-10-03") << text;
  }
}

TEST(Space, MovesTheUpperLimitToTheLastValue) {
  EXPECT_EQ(parse_parameter("n=1..10:4").distribution.high, 9);
  EXPECT_DOUBLE_EQ(parse_parameter("x=0.0..1.0:0.3").distribution.high, 0.9);
  EXPECT_EQ(parse_parameter("x=-10.2..10.2:0.1").distribution.high, 10.2);
}

TEST(Space, ConditionsActivateParameters) {
  Space space = {parse_parameter("optimizer=sgd,adam"), parse_parameter("momentum=0.0..1.0"),
                 parse_parameter("nesterov=true,false")};
  add_condition(space[1], space, "optimizer", {"sgd"});
  EXPECT_THAT(active_parameters(space, {0, 0.5, 0}), ElementsAre(true, true, true));
  EXPECT_THAT(active_parameters(space, {1, 0.5, 0}), ElementsAre(true, false, true));
  Parameter other = parse_parameter("beta=0.0..1.0");
  EXPECT_THROW(add_condition(other, space, "momentum", {"1"}), ConfigError);
  EXPECT_THROW(add_condition(other, space, "optimizer", {"lamb"}), ConfigError);
}

// Every value is where its position is, whatever the scale.
TEST(Distribution, PositionsAndValuesAreInverse) {
  for (const char* text : {"a=0.0..10.0", "a=log:1e-6..1.0", "a=3..17", "a=log:1..4096",
                           "a=0.0..1.0:0.1", "a=-64..64:16", "a=a,b,c"}) {
    const Distribution distribution = parse_parameter(text).distribution;
    for (int i = 0; i <= 100; ++i) {
      const double value = distribution.value_at(i / 100.0);
      EXPECT_TRUE(distribution.contains(value)) << text << " " << value;
      EXPECT_NEAR(distribution.value_at(distribution.position_of(value)), value,
                  1e-9 * std::abs(value) + 1e-12)
          << text;
    }
  }
}

TEST(Distribution, ValuesOfAGridAreEquallyLikely) {
  const Distribution distribution = parse_parameter("n=1..4").distribution;
  std::vector<int> counts(5, 0);
  for (int i = 0; i < 4000; ++i)
    ++counts[static_cast<std::size_t>(distribution.value_at((i + 0.5) / 4000))];
  EXPECT_THAT(counts, ElementsAre(0, 1000, 1000, 1000, 1000));
}

TEST(Distribution, JsonRoundTrip) {
  for (const char* text : {"a=0.0..10.0", "a=log:1e-6..1.0", "a=3..17", "a=log:1..4096",
                           "a=0.0..1.0:0.25", "a=1,x,true"}) {
    const Distribution distribution = parse_parameter(text).distribution;
    EXPECT_EQ(distribution_from_json(to_json(distribution)), distribution) << to_json(distribution);
  }
  EXPECT_EQ(distribution_from_json(
                R"({"name": "LogUniformDistribution", "attributes": {"low": 0.1, "high": 1.0}})"),
            Distribution::real(0.1, 1, true));
  EXPECT_THROW(distribution_from_json("{}"), ConfigError);
  EXPECT_THROW(distribution_from_json(R"({"name": "Beta", "attributes": {}})"), ConfigError);
}

}  // namespace
}  // namespace tutti::tune
