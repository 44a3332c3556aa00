#include "tutti/comm/transport/local/local_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

#include "tutti/comm/transport/local/rendezvous_listener.h"
#include "tutti/comm/transport/tcp/test_port.h"

namespace tutti::comm {
namespace {

using testing::HasSubstr;

// Ranks are threads here; the transport works in the same way.
class LocalTransport : public testing::Test {
 protected:
  LocalJob job(int rank, int size, double seconds = 60) const { return {rank, size, id_, seconds}; }

  // Starts this rank; the future is the message of the error, or empty.
  static std::future<std::string> start(const LocalJob& job) {
    return std::async(std::launch::async, [job]() -> std::string {
      try {
        start_local(job);
        return "";
      } catch (const Error& error) {
        return error.what();
      }
    });
  }
  // Of two ranks that cannot both succeed, returns the message of the failed one; `*other` is the one still waiting.
  static std::string first_failure(std::future<std::string>& a, std::future<std::string>& b,
                                   std::future<std::string>* other) {
    while (true) {
      if (a.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) {
        *other = std::move(b);
        return a.get();
      }
      if (b.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) {
        *other = std::move(a);
        return b.get();
      }
    }
  }

 private:
  const std::string id_ = std::to_string(getpid()) + "." +
                          testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(LocalTransport, OneRankNeedsNoPeers) {
  const auto transport = start_local(job(0, 1));
  EXPECT_THAT(transport->exchange("alone"), testing::ElementsAre("alone"));
  EXPECT_FALSE(transport->next_oob_message().has_value());
  transport->notify(0, "to myself");
  EXPECT_EQ(transport->next_oob_message()->text, "to myself");
}

TEST_F(LocalTransport, RejectsInvalidRanks) {
  EXPECT_THROW(start_local(job(2, 2)), ConfigError);
  EXPECT_THROW(start_local(job(-1, 2)), ConfigError);
}

TEST_F(LocalTransport, AllRanksReportTheMissingOnes) {
  auto joining = start(job(2, 4));
  auto host = start(job(0, 4, 1));
  const std::string missing = "of 4 ranks, these did not join within 1 s: 1, 3.";
  EXPECT_THAT(host.get(), HasSubstr("DDL-6-20 " + missing));
  EXPECT_THAT(joining.get(), AllOf(HasSubstr("DDL-6-20"), HasSubstr(missing)));
}

TEST_F(LocalTransport, ReportsThatRankZeroIsMissing) {
  EXPECT_THAT(start(job(1, 2, 0.01)).get(), HasSubstr("DDL-6-20 rank 0 did not join"));
}

TEST_F(LocalTransport, ARankOfAnotherJobIsRefused) {
  const int port = free_port();
  auto host = start({0, 2, "mine", 60, "localhost", port});
  EXPECT_THAT(start({1, 2, "other", 60, "localhost", port}).get(), HasSubstr("another job"));
  EXPECT_EQ(start({1, 2, "mine", 60, "localhost", port}).get(), "");
  EXPECT_EQ(host.get(), "");
}

TEST_F(LocalTransport, ASecondJobWithTheSameIdIsRejected) {
  auto one = start(job(0, 2)), two = start(job(0, 2));
  std::future<std::string> other;
  EXPECT_THAT(first_failure(one, two, &other), HasSubstr("DDL-6-24 the rendezvous address"));
  EXPECT_EQ(start(job(1, 2)).get(), "");
  EXPECT_EQ(other.get(), "");
}

TEST_F(LocalTransport, ARankWithoutTheSecretIsNotAdmitted) {
  const int port = free_port();
  LocalJob with{0, 2, "mine", 60, "localhost", port, auth::Secret::generate()};
  auto host = start(with);
  EXPECT_THAT(start({1, 2, "mine", 0.2, "localhost", port, auth::Secret::generate()}).get(),
              HasSubstr("DDL-6-28"));
  EXPECT_THAT(start({1, 2, "mine", 60, "localhost", port}).get(), HasSubstr("DDL-6-2"));
  with.rank = 1;
  EXPECT_EQ(start(with).get(), "");
  EXPECT_EQ(host.get(), "");
}

TEST_F(LocalTransport, ASecretHidesTheSocketOfAJob) {
  LocalJob one = job(0, 2), other = job(0, 2);
  EXPECT_EQ(rendezvous_socket_name(one), rendezvous_socket_name(other));
  one.secret = auth::Secret::generate();
  other.secret = auth::Secret::generate();
  EXPECT_NE(rendezvous_socket_name(one), rendezvous_socket_name(other));
  auto host = start(one);
  one.rank = 1;
  EXPECT_EQ(start(one).get(), "");
  EXPECT_EQ(host.get(), "");
}

// Only root can switch to another user.
TEST_F(LocalTransport, AProcessOfAnotherUserIsNotRankZero) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const LocalJob joining = job(1, 2, 0.2);
  const std::string name = rendezvous_socket_name(joining);
  int ready[2], end[2];
  ASSERT_TRUE(::pipe(ready) == 0 && ::pipe(end) == 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    const bool listens = ::setresuid(65534, 65534, 65534) == 0 && listen_unix(name) >= 0;
    ::close(end[1]);
    if (listens && ::write(ready[1], "r", 1) == 1) (void)!::read(end[0], &byte, 1);
    ::_exit(0);
  }
  ::close(ready[1]);
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(start(joining).get(), AllOf(HasSubstr("DDL-6-28"), HasSubstr("another user")));
  for (const int file : {ready[0], end[0], end[1]}) ::close(file);
  ::waitpid(child, nullptr, 0);
}

TEST_F(LocalTransport, ADuplicateRankIsRejected) {
  auto host = start(job(0, 3));
  auto one = start(job(1, 3)), two = start(job(1, 3));
  std::future<std::string> other;
  EXPECT_THAT(first_failure(one, two, &other), HasSubstr("rank 1 has already joined"));
  auto last = start(job(2, 3));
  EXPECT_EQ(last.get() + other.get() + host.get(), "");
}

TEST_F(LocalTransport, ARankOfAnotherSizeIsRefused) {
  auto host = start(job(0, 2));
  EXPECT_THAT(start(job(1, 3)).get(), HasSubstr("WORLD_SIZE=3, rank 0 with 2"));
  EXPECT_EQ(start(job(1, 2)).get(), "");
  EXPECT_EQ(host.get(), "");
}

TEST_F(LocalTransport, AnExchangeWithARankThatEndedFailsEverywhere) {
  std::vector<std::thread> ranks;
  std::atomic<int> failures = 0;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto transport = start_local(job(rank, 3));
      if (rank == 1) return;
      try {
        transport->exchange("here");
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 1: it has ended"));
        ++failures;
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(failures, 2);
}

TEST(LocalJob, IsReadFromTheEnvironment) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "5", 1);
  setenv("MASTER_PORT", "29500", 1);
  EXPECT_EQ(local_job_from_environment().rank, 3);
  EXPECT_EQ(local_job_from_environment().size, 5);
  EXPECT_EQ(local_job_from_environment().id, "29500");
  setenv("TUTTI_JOB", "mine", 1);
  EXPECT_EQ(local_job_from_environment().id, "mine");
  EXPECT_EQ(local_job_from_environment().master, "");
  setenv("LOCAL_WORLD_SIZE", "4", 1);
  EXPECT_THROW(local_job_from_environment(), ConfigError);  // no rendezvous address
  setenv("MASTER_ADDR", "localhost", 1);
  EXPECT_EQ(local_job_from_environment().master, "localhost");
  EXPECT_EQ(local_job_from_environment().port, 29501);
  setenv("LOCAL_WORLD_SIZE", "5", 1);
  EXPECT_EQ(local_job_from_environment().master, "");
  unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(local_job_from_environment().master, "");
  setenv("MASTER_ADDR", "host1", 1);
  EXPECT_EQ(local_job_from_environment().master, "host1");
  setenv("TUTTI_PORT", "4000", 1);
  EXPECT_EQ(local_job_from_environment().port, 4000);
  unsetenv("TUTTI_PORT");
  unsetenv("MASTER_PORT");
  EXPECT_THROW(local_job_from_environment(), ConfigError);
  for (const char* name : {"RANK", "WORLD_SIZE", "TUTTI_JOB", "MASTER_ADDR"}) unsetenv(name);
}

}  // namespace
}  // namespace tutti::comm
