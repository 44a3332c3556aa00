#include "tutti/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/core/test_error.h"

namespace tutti {
namespace {

using testing::HasSubstr;

const OptionTable kTable = {
    {"bucket_bytes", OptionType::kBytes, "25MiB", "Bucket size.", "", 1024, 1 << 30},
    {"timeout", OptionType::kFloat, "600", "Seconds.", "TUTTI_TEST_TIMEOUT", 0.1, 86400},
    {"check", OptionType::kBool, "0", "Self-check.", ""},
    {"mode", OptionType::kText, "p", "Mode.", ""},
    {"memory", OptionType::kChoice, "library", "Memory.", "", 0, 0, {"library", "foreign"}},
    {"ranks", OptionType::kInt, "1", "Ranks.", "", 1, 8},
};

TEST(Options, DefaultsEnvironmentAndValues) {
  ::setenv("TUTTI_TEST_TIMEOUT", "5", 1);
  Options options(kTable);
  ::unsetenv("TUTTI_TEST_TIMEOUT");
  EXPECT_EQ(options.number("timeout"), 5);
  EXPECT_EQ(options.integer("bucket_bytes"), 25 << 20);
  EXPECT_FALSE(options.flag("check"));
  EXPECT_TRUE(options.is_default("check"));
  options.set("check", "on");
  EXPECT_TRUE(options.flag("check"));
  EXPECT_FALSE(options.is_default("check"));
  EXPECT_EQ(options.source("check"), "program");
  options.set("check", "off", "DDL_OPTIONS");
  EXPECT_EQ(options.source("check"), "DDL_OPTIONS");
  EXPECT_EQ(options.source("timeout"), "TUTTI_TEST_TIMEOUT");
  EXPECT_EQ(options.source("mode"), "default");
}

TEST(Options, AChoiceIsAnEnumeration) {
  enum class Memory { kLibrary, kForeign };
  Options options(kTable);
  EXPECT_EQ(options.choice<Memory>("memory"), Memory::kLibrary);
  options.set("memory", "foreign");
  EXPECT_EQ(options.choice<Memory>("memory"), Memory::kForeign);
}

TEST(Options, ErrorsListTheValidValues) {
  Options options(kTable);
  EXPECT_EQ(message_of([&] { options.set("bucket_byte", "1"); }),
            "DDL-1-04 Unknown option bucket_byte. Did you mean bucket_bytes?");
  EXPECT_THAT(message_of([&] { options.set("speed", "1"); }),
              HasSubstr("Known: bucket_bytes, timeout, check, mode, memory, ranks."));
  EXPECT_THAT(message_of([&] { options.set("timeout", "soon"); }), HasSubstr("a number"));
  EXPECT_THAT(message_of([&] { options.set("ranks", "1.5"); }), HasSubstr("Expected an integer."));
  EXPECT_THAT(message_of([&] { options.set("timeout", "0"); }), HasSubstr("0.1 to 86400"));
  for (const char* not_a_number : {"nan", "-nan", "NaN"})
    EXPECT_THAT(message_of([&] { options.set("timeout", not_a_number); }),
                HasSubstr("0.1 to 86400"));
  EXPECT_THAT(message_of([&] { options.set("bucket_bytes", "1"); }), HasSubstr("1KiB to 1GiB"));
  EXPECT_THAT(message_of([&] { options.set("memory", "other"); }), HasSubstr("library, foreign"));
  EXPECT_THAT(message_of([&] { options.set("check", "maybe"); }), HasSubstr("0 or 1"));
}

const OptionTable kRenamed = {
    {.name = "cache_bytes",
     .type = OptionType::kBytes,
     .default_value = "0",
     .help = "Cache.",
     .environment = "TUTTI_TEST_CACHE",
     .aliases = {"keep_bytes", "hold_bytes"},
     .environment_aliases = {"TUTTI_TEST_KEEP"}},
    {.name = "update",
     .type = OptionType::kChoice,
     .default_value = "all",
     .help = "Update.",
     .environment = "",
     .choices = {"all", "sharded"},
     .choice_aliases = {{"slice", "sharded"}}},
};

TEST(OptionAliases, AreStoredUnderTheCurrentNames) {
  Options options(kRenamed);
  options.set("keep_bytes", "1KiB", "user");
  EXPECT_EQ(options.integer("cache_bytes"), 1024);
  EXPECT_EQ(options.source("cache_bytes"), "user");
  options.set("update", "slice");
  EXPECT_EQ(options.text("update"), "sharded");
  EXPECT_EQ(find_option(kRenamed, "hold_bytes"), &kRenamed[0]);
  EXPECT_EQ(find_option(kRenamed, "cache"), nullptr);
  EXPECT_THROW(options.integer("keep_bytes"), ConfigError);
  EXPECT_THAT(message_of([&] { options.set("keep_bytes", "much"); }), HasSubstr("number of bytes"));
  EXPECT_THAT(message_of([&] { options.set("update", "none"); }), HasSubstr("all, sharded."));
}

TEST(OptionAliases, TheCurrentEnvironmentVariableWins) {
  ::setenv("TUTTI_TEST_KEEP", "1", 1);
  EXPECT_EQ(Options(kRenamed).integer("cache_bytes"), 1);
  EXPECT_EQ(Options(kRenamed).source("cache_bytes"), "TUTTI_TEST_KEEP");
  ::setenv("TUTTI_TEST_CACHE", "2", 1);
  EXPECT_EQ(Options(kRenamed).integer("cache_bytes"), 2);
  ::unsetenv("TUTTI_TEST_KEEP");
  ::unsetenv("TUTTI_TEST_CACHE");
}

TEST(OptionAliases, WarnOncePerProcess) {
  const OptionTable table = {{.name = "new_name",
                              .type = OptionType::kInt,
                              .default_value = "0",
                              .help = "",
                              .environment = "",
                              .aliases = {"old_name"}}};
  Options options(table);
  testing::internal::CaptureStderr();
  options.set("new_name", "1");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) options.set("old_name", "1");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("warning: option 'old_name' is deprecated; use 'new_name'\n"));
  EXPECT_EQ(log.find("deprecated"), log.rfind("deprecated"));
}

TEST(OptionAliases, AreOnlyInTheReference) {
  const std::string page = reference_markdown("Options", kRenamed);
  EXPECT_THAT(page, HasSubstr("Cache. Formerly `keep_bytes`, `hold_bytes`, `TUTTI_TEST_KEEP`. |"));
  EXPECT_THAT(page, HasSubstr("Update. Formerly `update=slice`. |"));
  EXPECT_THAT(help_text(kRenamed), testing::Not(HasSubstr("keep_bytes")));
}

TEST(Options, ReferencePageHasEveryOption) {
  const std::string page = reference_markdown("Options", kTable);
  for (const OptionSpec& spec : kTable) EXPECT_THAT(page, HasSubstr("`" + spec.name + "`"));
}

TEST(Bytes, ParsesCommonSpellings) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("1KiB"), 1024);
  EXPECT_EQ(parse_bytes("1.5gb"), 1'500'000'000);
  EXPECT_EQ(parse_bytes("2G"), parse_bytes("2GiB"));
  EXPECT_EQ(parse_bytes("2 GB"), 2'000'000'000);
  EXPECT_EQ(format_bytes(parse_bytes("64MiB")), "64MiB");
  EXPECT_EQ(format_bytes(1000), "1000");
  for (const char* bad : {"", "-1", "KiB", "1XB", "nan", "1e30TB"}) {
    EXPECT_THROW(parse_bytes(bad), ConfigError) << bad;
  }
}

}  // namespace
}  // namespace tutti
