// A program that initialises MPI itself: its messages and those of the library must not interfere.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>

#include "tutti/comm/transport/mpi/mpi_transport.h"

namespace tutti::comm {
namespace {

TEST(MpiGuest, UsesTheProgramsCommunicator) {
  int world_rank = 0, world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &reversed);
  ASSERT_TRUE(mpi_is_running());
  {
    const auto transport = join_mpi(&reversed);
    EXPECT_EQ(transport->rank(), world_size - 1 - world_rank);
    EXPECT_EQ(transport->size(), world_size);

    const int right = (transport->rank() + 1) % world_size;
    const int left = (transport->rank() + world_size - 1) % world_size;
    int ours = -1, theirs = -1;
    const int our_value = 1000 + transport->rank(), their_value = 2000 + transport->rank();
    MPI_Request request;
    MPI_Irecv(&theirs, 1, MPI_INT, left, 3, reversed, &request);
    const auto sending = transport->send(right, 3, &our_value, sizeof our_value);
    const auto receiving = transport->receive(left, 3, &ours, sizeof ours);
    MPI_Send(&their_value, 1, MPI_INT, right, 3, reversed);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (bool finished = false; !finished;) receiving->test(&finished).throw_if_error();
    for (bool finished = false; !finished;) sending->test(&finished).throw_if_error();
    EXPECT_EQ(ours, 1000 + left);
    EXPECT_EQ(theirs, 2000 + left);
  }
  ASSERT_TRUE(mpi_is_running()) << "a guest must not finalise MPI";
  MPI_Comm_free(&reversed);
}

TEST(MpiGuest, StartingTwiceIsAllowedWhileMpiRuns) {
  const auto first = start_mpi();
  const auto second = start_mpi();
  EXPECT_EQ(first->exchange("a").size(), second->exchange("b").size());
}

}  // namespace
}  // namespace tutti::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // A lower thread level than the library requests: MPI calls must then be serialised.
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  const int code = RUN_ALL_TESTS();
  const bool is_running = tutti::comm::mpi_is_running();
  MPI_Finalize();
  if (!is_running || tutti::comm::mpi_is_running()) return EXIT_FAILURE;
  try {
    tutti::comm::start_mpi();
  } catch (const tutti::ConfigError&) {
    return code;
  }
  return EXIT_FAILURE;
}
