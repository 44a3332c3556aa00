#include "tutti/topo/internal/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/core/test_error.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Form kForm = {"thing", {{"", {"name"}, {"bytes"}}, {"part", {"size"}, {"flag", "lists"}}}};

std::string rejection_of(std::string_view text) {
  return message_of([&] { parse_document(text, "f.txt", kForm); });
}

TEST(Document, ReadsKeysSectionsAndComments) {
  const Document document = parse_document(
      "# ours\n tutti thing 1\r\nname = a b = c # why\nbytes=2KiB\n[part]\nsize = 3\nflag = yes\n"
      "[ part ]\nsize=0\nlists = 0,2  1-3",
      "f.txt", kForm);
  EXPECT_EQ(document.head.text("name"), "a b = c");
  EXPECT_EQ(document.head.bytes("bytes"), 2048);
  ASSERT_EQ(document.sections.size(), 2u);
  EXPECT_EQ(document.sections[0].integer("size"), 3);
  EXPECT_TRUE(document.sections[0].yes_no("flag"));
  EXPECT_FALSE(document.sections[1].has("flag"));
  EXPECT_THAT(document.sections[1].lists("lists"),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 2, 3)));
}

TEST(Document, ErrorsNameFileLineAndRemedy) {
  EXPECT_THAT(rejection_of(""), HasSubstr("f.txt:1: the first line must be 'tutti thing 1'"));
  EXPECT_THAT(rejection_of("tutti thing 2\n"), HasSubstr("this is 'tutti thing 2'"));
  EXPECT_THAT(rejection_of("tutti thing 1\n"), HasSubstr("'name' is missing before the first"));
  EXPECT_THAT(
      rejection_of("tutti thing 1\nnmae = x\n"),
      HasSubstr("f.txt:2: unknown key 'nmae' before the first section; the keys are name, bytes"));
  EXPECT_THAT(rejection_of("tutti thing 1\nname = x\n[prt]\n"),
              HasSubstr("the sections are [part]"));
  EXPECT_THAT(rejection_of("tutti thing 1\nname = x\n[\n"), HasSubstr("f.txt:3: unknown section"));
  EXPECT_THAT(rejection_of("tutti thing 1\nname = x\n[]\n"), HasSubstr("f.txt:3: unknown section"));
  EXPECT_THAT(rejection_of("tutti thing 1\nname = x\nname = y\n"),
              HasSubstr("f.txt:3: 'name' is given"));
  EXPECT_THAT(rejection_of("tutti thing 1\nname\n"), HasSubstr("not of the form key = value"));
  EXPECT_THAT(rejection_of("tutti thing 1\nname = x\n\n[part]\nflag = no\n"),
              HasSubstr("f.txt:4: 'size' is missing in [part]"));
}

TEST(Document, ValuesOfTheWrongKindAreRejected) {
  const Document document = parse_document(
      "tutti thing 1\nname = x\nbytes = many\n[part]\nsize = 1.5\nflag = maybe\nlists = 1 b\n",
      "f.txt", kForm);
  const Section& part = document.sections[0];
  EXPECT_THAT(message_of([&] { document.head.bytes("bytes"); }),
              HasSubstr("f.txt:3: bytes = many"));
  EXPECT_THAT(message_of([&] { part.integer("size"); }), HasSubstr("whole number of at least 0"));
  EXPECT_EQ(part.number("size"), 1.5);
  EXPECT_THAT(message_of([&] { part.number("flag"); }), HasSubstr("a number of at least 0"));
  EXPECT_THAT(message_of([&] { part.yes_no("flag"); }), HasSubstr("yes or no"));
  EXPECT_THAT(message_of([&] { part.lists("lists"); }), HasSubstr("separated by spaces"));
  EXPECT_THAT(message_of([&] { part.list("lists"); }), HasSubstr("0-3,8"));
}

TEST(Document, CleanValuesCanBeRead) {
  EXPECT_EQ(clean_value(" a\nb #c "), "a b  c");
  EXPECT_EQ(clean_value(" \n"), "unknown");
}

TEST(NumberList, KeepsOrderAndFoldsRuns) {
  const std::vector<std::vector<int>> lists = {
      {}, {7}, {0, 1}, {0, 1, 2, 3, 8}, {3, 2, 1}, {0, 4, 8, 12}, {5, 6, 7, 5, 6, 7}};
  for (const auto& list : lists)
    EXPECT_EQ(parse_list(format_list(list)), list) << format_list(list);
  EXPECT_EQ(format_list(lists[3]), "0-3,8");
  EXPECT_EQ(format_list(lists[2]), "0,1");
  EXPECT_EQ(format_list(lists[0]), "none");
  for (const char* bad : {"", ",", "1,", "a", "3-1", "-1", "1--2", "0-99999999", "1 2"}) {
    EXPECT_THROW(parse_list(bad), ConfigError) << bad;
  }
}

}  // namespace
}  // namespace tutti::topo::internal
