#include "tutti/launch/line_output.h"

#include <gmock/gmock.h>

#include "tutti/launch/frames.h"

namespace tutti::launch {
namespace {

TEST(LineOutput, HoldsBackWhatIsNoLineYet) {
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

TEST(Frames, ComeBackWholeFromPieces) {
  const std::string stream =
      encode('O', "hello") + encode('X', "") + encode('E', std::string(70000, 'e'));
  FrameReader reader;
  std::vector<Frame> frames;
  for (const char c : stream) {
    reader.add(&c, 1);
    while (auto frame = reader.next()) frames.push_back(*frame);
  }
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].body, "hello");
  EXPECT_EQ(frames[1].kind, 'X');
  EXPECT_EQ(frames[2].body.size(), 70000u);
}

TEST(Frames, AStrangerIsNotBelieved) {
  FrameReader reader;
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  reader.add(request.data(), request.size());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.is_broken());
}

}  // namespace
}  // namespace tutti::launch
