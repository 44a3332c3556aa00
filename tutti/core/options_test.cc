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

TEST(Options, WrongInputSaysWhatWouldBeRight) {
  Options options(kTable);
  EXPECT_EQ(message_of([&] { options.set("bucket_byte", "1"); }),
            "DDL-1-04 Unknown option bucket_byte. Did you mean bucket_bytes?");
  EXPECT_THAT(message_of([&] { options.set("speed", "1"); }),
              HasSubstr("Known: bucket_bytes, timeout, check, mode, memory."));
  EXPECT_THAT(message_of([&] { options.set("timeout", "soon"); }), HasSubstr("a number"));
  EXPECT_THAT(message_of([&] { options.set("timeout", "0"); }), HasSubstr("0.1 to 86400"));
  for (const char* not_a_number : {"nan", "-nan", "NaN"})
    EXPECT_THAT(message_of([&] { options.set("timeout", not_a_number); }),
                HasSubstr("0.1 to 86400"));
  EXPECT_THAT(message_of([&] { options.set("bucket_bytes", "1"); }), HasSubstr("1KiB to 1GiB"));
  EXPECT_THAT(message_of([&] { options.set("memory", "other"); }), HasSubstr("library, foreign"));
  EXPECT_THAT(message_of([&] { options.set("check", "maybe"); }), HasSubstr("0 or 1"));
}

TEST(Options, ReferencePageHasEveryOption) {
  const std::string page = reference_markdown("Options", kTable);
  for (const OptionSpec& spec : kTable) EXPECT_THAT(page, HasSubstr("`" + spec.name + "`"));
}

TEST(Bytes, ParsesWhatPeopleWrite) {
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
