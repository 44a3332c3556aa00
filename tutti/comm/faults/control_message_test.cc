#include "tutti/comm/faults/control_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::comm {
namespace {

using testing::HasSubstr;

TEST(ControlMessage, ReportsRoundTrip) {
  RankReport report;
  report.rank = 3;
  report.since_ns = 2'100'000'000;
  report.record = OpRecord::of({.count = 10, .name = "conv1"}, 5);
  report.is_inside = true;
  report.process_state = 'T';
  const ControlMessage sent{
      .kind = ControlMessage::Kind::kReports, .communicator = 2, .reports = {report, {}}};
  const auto received = ControlMessage::parse(sent.to_text());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->kind, ControlMessage::Kind::kReports);
  EXPECT_EQ(received->communicator, 2);
  ASSERT_EQ(received->reports.size(), 2u);
  EXPECT_TRUE(received->reports[0].record.agrees_with(report.record));
  EXPECT_EQ(received->reports[0].activity(),
            "has been in all_reduce #5 'conv1' (10 x f32, sum) for 2.1 s");
  EXPECT_THAT(received->reports[1].activity(), HasSubstr("has made no call"));
}

TEST(ControlMessage, FailuresKeepKindCodeAndMessage) {
  const ControlMessage sent{.kind = ControlMessage::Kind::kDeath,
                            .failure = Result::failure(ErrorKind::kTimeout, "DDL-4-05", "Gave up."),
                            .dead_rank = 9};
  const auto received = ControlMessage::parse(sent.to_text());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->dead_rank, 9);
  EXPECT_EQ(received->failure.kind(), ErrorKind::kTimeout);
  EXPECT_EQ(received->failure.code(), "DDL-4-05");
  EXPECT_EQ(received->failure.message(), "Gave up.");
}

TEST(ControlMessage, MalformedMessagesAreRejected) {
  EXPECT_FALSE(ControlMessage::parse(""));
  EXPECT_FALSE(ControlMessage::parse("hello, this is not news"));
  std::string text =
      ControlMessage{.kind = ControlMessage::Kind::kReports, .reports = {{}}}.to_text();
  text.pop_back();
  EXPECT_FALSE(ControlMessage::parse(text));
  EXPECT_FALSE(
      ControlMessage::parse(ControlMessage{.kind = ControlMessage::Kind::kFailure}.to_text()));
}

}  // namespace
}  // namespace tutti::comm
