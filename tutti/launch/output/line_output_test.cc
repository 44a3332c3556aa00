#include "tutti/launch/output/line_output.h"

#include <gmock/gmock.h>

namespace tutti::launch {
namespace {

TEST(LineOutput, BuffersIncompleteLines) {
  std::string out;
  LineOutput lines("", [&](std::string_view text) { out += text; });
  lines.add("on");
  EXPECT_EQ(out, "");
  EXPECT_TRUE(lines.is_waiting());
  lines.add("e\ntw");
  EXPECT_EQ(out, "one\n");
  lines.flush(false);
  EXPECT_EQ(out, "one\n");
  lines.flush(true);
  EXPECT_EQ(out, "one\ntw");
  EXPECT_FALSE(lines.is_waiting());
}

TEST(LineOutput, TagsEveryLineOnce) {
  std::string out;
  LineOutput lines("[3 a] ", [&](std::string_view text) { out += text; });
  lines.add("one\n\ntw");
  lines.flush(true);
  lines.add("o\n10%\r20%\r");
  lines.add("30%\n");
  EXPECT_EQ(out, "[3 a] one\n[3 a] \n[3 a] two\n[3 a] 10%\r20%\r30%\n");
}

TEST(LineOutput, PassesLongLinesOnAsTheyArrive) {
  std::string out;
  LineOutput lines("", [&](std::string_view text) { out += text; });
  const std::string piece(40000, 'x');
  lines.add("short\n" + piece);
  EXPECT_EQ(out, "short\n");
  lines.add(piece);
  EXPECT_EQ(out, "short\n" + piece + piece);
  lines.add(piece + piece);
  EXPECT_EQ(out.size(), 6 + 4 * piece.size());
  lines.add("end\n");
  EXPECT_TRUE(out.ends_with("xend\n"));
}

TEST(LineOutput, TagsALongLineOnce) {
  std::string out;
  LineOutput lines("[3 a] ", [&](std::string_view text) { out += text; });
  const std::string piece(100000, 'x');
  lines.add(piece);
  lines.add(piece + "\n");
  EXPECT_EQ(out, "[3 a] " + piece + piece + "\n");
}

TEST(LastLines, OfOneLongText) {
  LastLines last;
  last.add("first\nbegin");
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  last.add(text + "half");
  EXPECT_TRUE(last.text().starts_with("    line 991\n")) << last.text();
  EXPECT_TRUE(last.text().ends_with("    line 999\n    half\n")) << last.text();
}

TEST(LastLines, KeepTheEnd) {
  LastLines last;
  EXPECT_EQ(last.text(), "");
  for (int i = 0; i < 30; ++i) last.add("line " + std::to_string(i) + "\n");
  last.add("half");
  last.add(" a line");
  const std::string text = last.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_TRUE(text.starts_with("    line 21\n")) << text;
  EXPECT_TRUE(text.ends_with("    half a line\n")) << text;
  last.add("\n10%\r20%\r" + std::string(1 << 20, 'x'));
  EXPECT_LT(last.text().size(), 2000u);
  EXPECT_EQ(last.text().find("10%"), std::string::npos);
}

}  // namespace
}  // namespace tutti::launch
