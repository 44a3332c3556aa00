#include "tutti/comm/internal/news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::comm {
namespace {

using testing::HasSubstr;

TEST(News, ReportsComeBackAsTheyWent) {
  RankReport report;
  report.rank = 3;
  report.since_ns = 2'100'000'000;
  report.record = OpRecord::of({.count = 10, .name = "conv1"}, 5);
  report.is_inside = true;
  report.process_state = 'T';
  const News sent{.kind = News::Kind::kReports, .communicator = 2, .reports = {report, {}}};
  const auto received = News::parse(sent.to_text());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->kind, News::Kind::kReports);
  EXPECT_EQ(received->communicator, 2);
  ASSERT_EQ(received->reports.size(), 2u);
  EXPECT_TRUE(received->reports[0].record.agrees_with(report.record));
  EXPECT_EQ(received->reports[0].place(), "is in all_reduce #5 'conv1' (10 x f32, sum) for 2.1 s");
  EXPECT_THAT(received->reports[1].place(), HasSubstr("has not called anything"));
}

TEST(News, FailuresKeepKindCodeAndSentence) {
  const News sent{.kind = News::Kind::kDeath,
                  .failure = Result::failure(ErrorKind::kTimeout, "DDL-4-05", "Gave up."),
                  .dead_rank = 9};
  const auto received = News::parse(sent.to_text());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->dead_rank, 9);
  EXPECT_EQ(received->failure.kind(), ErrorKind::kTimeout);
  EXPECT_EQ(received->failure.code(), "DDL-4-05");
  EXPECT_EQ(received->failure.message(), "Gave up.");
}

TEST(News, OtherTextIsRefused) {
  EXPECT_FALSE(News::parse(""));
  EXPECT_FALSE(News::parse("hello, this is not news"));
  std::string text = News{.kind = News::Kind::kReports, .reports = {{}}}.to_text();
  text.pop_back();
  EXPECT_FALSE(News::parse(text));
  EXPECT_FALSE(News::parse(News{.kind = News::Kind::kFailure}.to_text()));
}

}  // namespace
}  // namespace tutti::comm
