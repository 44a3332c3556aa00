#include "tutti/fusion/message.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::fusion {
namespace {

UpMessage sample() {
  UpMessage up;
  up.known = {3, 64, 700};
  up.reports.push_back({.name = "conv1.weight",
                        .signature = {.counts = {10, 0, 1'000'000'000'000},
                                      .prescale = 0.1,
                                      .compression = "topk:0.01"},
                        .priority = -7,
                        .rank = 12,
                        .trouble = "rank 1 has less"});
  up.late.push_back({"fc", {1, 2}});
  up.joined = {5};
  up.left = {6, 7};
  return up;
}

TEST(FusionMessage, RequestsRoundTrip) {
  const UpMessage up = decode_up(encode(sample()));
  EXPECT_EQ(up.known, sample().known);
  ASSERT_EQ(up.reports.size(), 1u);
  EXPECT_EQ(up.reports[0].signature, sample().reports[0].signature);
  EXPECT_EQ(up.reports[0].priority, -7);
  EXPECT_EQ(up.reports[0].trouble, "rank 1 has less");
  EXPECT_EQ(up.late[0].missing, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(up.joined, std::vector<std::int32_t>{5});
  EXPECT_EQ(up.left, (std::vector<std::int32_t>{6, 7}));
}

TEST(FusionMessage, ResponsesRoundTrip) {
  DownMessage down;
  down.buckets = {{Item{.known = 4, .report = {}},
                   Item{.is_remembered = true, .report = {.name = "a", .signature = {}}}},
                  {}};
  down.failures.push_back({"b", "DDL-4-71", "no", true});
  down.last_joined = 3;
  down.is_end = true;
  const DownMessage back = decode_down(encode(down));
  ASSERT_EQ(back.buckets.size(), 2u);
  EXPECT_EQ(back.buckets[0][0].known, 4);
  EXPECT_EQ(back.buckets[0][1].report.name, "a");
  EXPECT_TRUE(back.buckets[0][1].is_remembered);
  EXPECT_TRUE(back.failures[0].is_timeout);
  EXPECT_EQ(back.last_joined, 3);
  EXPECT_EQ(back.left, -1);
  EXPECT_TRUE(back.is_end);
}

// A hundred cached tensors take two words.
TEST(FusionMessage, KnownTensorsAreBits) {
  UpMessage up;
  for (std::uint32_t i = 1000; i < 1100; ++i) up.known.push_back(i);
  EXPECT_LE(encode(up).size(), 40u);
}

TEST(FusionMessage, MalformedMessagesAreRejected) {
  const std::string whole = encode(sample());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(decode_up(whole.substr(0, length)), CommError) << length;
  EXPECT_THROW(decode_up(whole + "x"), CommError);
}

TEST(FusionMessage, KeysDifferByNameAndSignature) {
  const Signature ten{.counts = {10}}, eleven{.counts = {11}};
  EXPECT_EQ(key_of("a", ten), key_of("a", ten));
  EXPECT_NE(key_of("a", ten), key_of("a", eleven));
  EXPECT_NE(key_of("a", ten), key_of("b", ten));
}

}  // namespace
}  // namespace tutti::fusion
