#include "bench/allreduce/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using testing::ElementsAre;

AllreduceSettings parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "allreduce");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  AllreduceSettings settings;
  EXPECT_TRUE(parse_allreduce(static_cast<int>(argv.size()), argv.data(), settings));
  return settings;
}

TEST(AllreduceSettings, DefaultsAreTwoRanksAndEveryBaseline) {
  AllreduceSettings settings = parse({});
  EXPECT_EQ(settings.ranks(), 2);
  EXPECT_EQ(settings.hosts, 1);
  EXPECT_EQ(settings.sizes.size(), 10u);
  EXPECT_THAT(settings.baselines, ElementsAre("openmpi", "mpich", "gloo"));
  EXPECT_THAT(settings.memory, ElementsAre("library", "caller"));
}

TEST(AllreduceSettings, DefaultSizesTakeAFewMinutesOnTheTestbed) {
  EXPECT_EQ(parse({}).sizes.back(), 256 << 20);
  EXPECT_EQ(parse({"--testbed"}).sizes.back(), 64 << 20);
  EXPECT_EQ(parse({"--testbed", "--quick"}).sizes.size(), 4u);
  EXPECT_THAT(parse({"--testbed", "--bytes", "256MiB"}).sizes, ElementsAre(256 << 20));
}

TEST(AllreduceSettings, OneHost) {
  AllreduceSettings settings =
      parse({"--ranks", "5", "--bytes", "4KiB", "--baselines", "gloo", "--memory", "caller"});
  EXPECT_EQ(settings.ranks(), 5);
  EXPECT_THAT(settings.sizes, ElementsAre(4096));
  EXPECT_THAT(settings.baselines, ElementsAre("gloo"));
  EXPECT_THAT(settings.memory, ElementsAre("caller"));
}

TEST(AllreduceSettings, PeersIsADeprecatedNameOfBaselines) {
  EXPECT_THAT(parse({"--peers", "gloo,mpich"}).baselines, ElementsAre("gloo", "mpich"));
  EXPECT_THROW(parse({"--peers", "unknown"}), ConfigError);
}

TEST(AllreduceSettings, ForeignIsADeprecatedNameOfCallerMemory) {
  EXPECT_THAT(parse({"--memory", "library,foreign"}).memory, ElementsAre("library", "caller"));
  EXPECT_THROW(parse({"--memory", "unknown"}), ConfigError);
}

TEST(AllreduceSettings, Testbed) {
  AllreduceSettings settings =
      parse({"--testbed", "--hosts", "3", "--ranks-per-host", "1", "--map-by", "node"});
  EXPECT_EQ(settings.ranks(), 3);
  EXPECT_TRUE(settings.map_by_node);
  EXPECT_TRUE(parse({"--testbed", "--deal", "node"}).map_by_node);  // deprecated name
  EXPECT_EQ(parse({"--testbed"}).ranks(), 8);
}

TEST(AllreduceSettings, InvalidArgumentsAreRejected) {
  using Args = std::vector<std::string>;
  for (const Args& arguments :
       {Args{"--ranks", "1"}, Args{"--ranks", "-2"}, Args{"--hosts", "4"},
        Args{"--testbed", "--ranks", "2"}, Args{"--baselines", "unknown"}, Args{"--bytes", "much"},
        Args{"--memory", "some"}, Args{"--map-by", "card"}, Args{"--timeout", "0"},
        Args{"--no-such-flag"}, Args{"--testbed", "--hosts", "1", "--ranks-per-host", "1"}})
    EXPECT_THROW(parse(arguments), ConfigError) << arguments.front();
}

}  // namespace
}  // namespace tutti::bench
