#include "tutti/launch/net/frames.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace tutti::launch {
namespace {

using Frames = std::vector<std::pair<char, std::string>>;

// Reads `stream` in pieces of `bytes`; adjacent pieces of output are joined.
Frames frames_in(const std::string& stream, std::size_t bytes) {
  FrameReader reader;
  Frames frames;
  for (std::size_t at = 0; at < stream.size(); at += bytes) {
    reader.read(std::string_view(stream).substr(at, bytes), [&](char kind, std::string_view body) {
      const bool continues = kind == kOutput && !frames.empty() && frames.back().first == kind;
      if (!continues) frames.emplace_back(kind, "");
      frames.back().second += body;
      return true;
    });
  }
  return frames;
}

TEST(Frames, AreTheSameInPiecesOfAnySize) {
  const std::string stream = encode(kStop) + encode(kOutput, std::string(70000, 'o')) +
                             encode(kOutput, "more") + encode(kDone, "") + encode(kExit, "body");
  const Frames expected = {
      {kStop, ""}, {kOutput, std::string(70000, 'o') + "more"}, {kDone, ""}, {kExit, "body"}};
  for (const std::size_t bytes : {1, 2, 5, 7, 4096, 100000}) {
    EXPECT_EQ(frames_in(stream, bytes), expected) << bytes;
  }
}

TEST(Frames, PassOutputOnBeforeItsFrameIsComplete) {
  FrameReader reader;
  std::string output;
  const std::string frame = encode(kOutput, std::string(1000, 'o'));
  reader.read(std::string_view(frame).substr(0, 15), [&](char, std::string_view body) {
    output += body;
    return true;
  });
  EXPECT_EQ(output, std::string(10, 'o'));
}

TEST(Frames, RejectLongControlFramesAndOtherProtocols) {
  FrameReader reader;
  int calls = 0;
  const auto take = [&](char, std::string_view) { return ++calls > 0; };
  EXPECT_FALSE(reader.read("GET / HTTP/1.1\r\n\r\n", take));
  EXPECT_FALSE(reader.read(encode(kStop), take));
  EXPECT_EQ(calls, 0);
}

TEST(Frames, BodiesRoundTrip) {
  const auto body = [](const std::string& frame) { return frame.substr(kFrameHeaderBytes); };
  const auto hello = decode_hello(body(encode(Hello{7, 1234, -5, "boot"})));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->rank, 7);
  EXPECT_EQ(hello->clock_ns, -5);
  EXPECT_EQ(hello->boot_id, "boot");
  const auto welcome = decode_welcome(body(encode(Welcome{true, 24, 80, 1 << 20, "0-3"})));
  ASSERT_TRUE(welcome);
  EXPECT_TRUE(welcome->is_terminal);
  EXPECT_EQ(welcome->columns, 80);
  EXPECT_EQ(welcome->window, 1U << 20);
  EXPECT_EQ(welcome->cpus, "0-3");
  const auto credit = decode_credit(body(encode(Credit{kErrors, 77})));
  ASSERT_TRUE(credit);
  EXPECT_EQ(credit->stream, kErrors);
  EXPECT_EQ(credit->bytes, 77U);
  const auto exit = decode_exit(body(encode(Exit{-1, 9, 1LL << 40, true})));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, -1);
  EXPECT_EQ(exit->signal, 9);
  EXPECT_EQ(exit->clock_ns, 1LL << 40);
  EXPECT_TRUE(exit->was_stopped);
}

TEST(Frames, BodiesOfAnotherSizeAreRejected) {
  EXPECT_FALSE(decode_hello("short"));
  EXPECT_FALSE(decode_welcome(""));
  EXPECT_FALSE(decode_credit("O1234+"));
  EXPECT_FALSE(decode_credit("Z1234"));
  EXPECT_FALSE(decode_exit(std::string(18, 'x')));
}

// An agent is authenticated, but its version may differ, or its data may be corrupt.
TEST(Frames, AnyBytesAreReadWithinBounds) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string input(random() % 64, '\0');
    for (char& c : input) c = static_cast<char>(random() % 3 ? random() : "HOEXDWCS"[random() % 8]);
    FrameReader reader;
    std::size_t taken = 0;
    reader.read(input, [&](char, std::string_view body) {
      taken += body.size();
      decode_hello(body), decode_welcome(body), decode_credit(body), decode_exit(body);
      return true;
    });
    ASSERT_LE(taken, input.size());
  }
}

}  // namespace
}  // namespace tutti::launch
