#include "tests/conformance/transport_conformance.h"
#include "tests/mpi/mpi_test_main.h"

namespace tutti::comm {
namespace {

World mpi_world() {
  return {.name = "Mpi",
          .run = [](const RankBody& body) { body(mpi_under_test()); },
          .cancels_sends = false};
}

INSTANTIATE_TEST_SUITE_P(Mpi, TransportConformance, testing::Values(mpi_world()), world_name);

TEST(MpiAlone, ExchangesWithItself) {
  Transport& mpi = mpi_under_test();
  const auto all = mpi.exchange("here");
  ASSERT_EQ(all.size(), static_cast<std::size_t>(mpi.size()));
  EXPECT_EQ(all[static_cast<std::size_t>(mpi.rank())], "here");
}

TEST(MpiTransport, NamesBothSizesWhenAMessageIsShort) {
  Transport& mpi = mpi_under_test();
  const int right = (mpi.rank() + 1) % mpi.size();
  const int left = (mpi.rank() + mpi.size() - 1) % mpi.size();
  const char sent[3] = {};
  char wanted[5] = {};
  const auto sending = mpi.send(right, 6, sent, 3);
  const auto receiving = mpi.receive(left, 6, wanted, 5);
  bool finished = false;
  Result result = Result::ok();
  while (result && !finished) result = receiving->test(&finished);
  ASSERT_FALSE(result.is_ok());
  EXPECT_EQ(result.code(), "DDL-6-02");
  while (!finished) ASSERT_TRUE(sending->test(&finished).is_ok());
}

TEST(MpiTransport, ReportsAMessageThatIsTooLong) {
  Transport& mpi = mpi_under_test();
  const int right = (mpi.rank() + 1) % mpi.size();
  const int left = (mpi.rank() + mpi.size() - 1) % mpi.size();
  const char sent[5] = {};
  char wanted[3] = {};
  const auto sending = mpi.send(right, 7, sent, 5);
  const auto receiving = mpi.receive(left, 7, wanted, 3);
  bool finished = false;
  Result result = Result::ok();
  while (result && !finished) result = receiving->test(&finished);
  ASSERT_FALSE(result.is_ok());
  EXPECT_EQ(result.code(), "DDL-6-11");
  while (!finished) ASSERT_TRUE(sending->test(&finished).is_ok());
}

}  // namespace
}  // namespace tutti::comm
