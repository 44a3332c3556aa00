#include "bench/ddp/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using testing::HasSubstr;

DdpSettings parse(std::vector<std::string> args) {
  args.insert(args.begin(), "ddp");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  DdpSettings settings;
  EXPECT_TRUE(parse_ddp(static_cast<int>(argv.size()), argv.data(), settings));
  return settings;
}

Summary of(double seconds) {
  return {seconds, seconds, seconds, 3};
}

TEST(DdpSettings, RanksAndHosts) {
  EXPECT_EQ(parse({}).ranks(), 2);
  EXPECT_EQ(parse({"--ranks", "3"}).ranks(), 3);
  EXPECT_EQ(parse({"--testbed"}).ranks(), 8);
  EXPECT_EQ(parse({"--testbed", "--hosts", "3", "--ranks-per-host", "1"}).ranks(), 3);
  EXPECT_THROW(parse({"--ranks", "1"}), ConfigError);
  EXPECT_THROW(parse({"--hosts", "2"}), ConfigError);
  EXPECT_THROW(parse({"--testbed", "--ranks", "2"}), ConfigError);
  EXPECT_THROW(parse({"--models", "none"}), ConfigError);
}

TEST(DdpReport, ExposedIsTheTimeThatCommunicationAddsToAStep) {
  DdpSettings settings = parse({"--models", "wide", "--bytes", "4KiB"});
  DdpOutcome outcome;
  outcome.seconds[{"ddl", "step", "wide", "sync"}] = of(0.11);
  outcome.seconds[{"ddl", "step", "wide", "local"}] = of(0.10);
  outcome.seconds[{"gloo", "step", "wide", "sync"}] = of(0.13);
  outcome.seconds[{"gloo", "step", "wide", "local"}] = of(0.10);
  outcome.seconds[{"ddl", "reduce", "library", "4096"}] = of(1e-5);
  outcome.seconds[{"gloo", "reduce", "caller", "4096"}] = of(5e-5);
  EXPECT_NEAR(outcome.exposed("ddl", "wide", "sync"), 0.01, 1e-9);
  EXPECT_EQ(outcome.exposed("ddl", "hep", "sync"), -1);
  const std::string text = text_of(settings, outcome);
  EXPECT_THAT(text, HasSubstr("5.00x"));  // 4 KiB
  EXPECT_THAT(text, HasSubstr("1.18x"));  // the step
  EXPECT_THAT(text, HasSubstr("3.00x"));  // exposed
  int ratios = 0, exposed = 0;
  for (const Row& row : rows_of(settings, outcome)) {
    ratios += row.metric == "ratio";
    exposed += row.metric == "exposed_communication";
  }
  EXPECT_EQ(ratios, 3);
  EXPECT_EQ(exposed, 2);
}

}  // namespace
}  // namespace tutti::bench
