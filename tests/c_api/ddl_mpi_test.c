/* A program that initialises MPI itself and passes communicators to the library. */
#include <ddl_mpi.h>

#include "tests/c_api/check.h"

int main(int argc, char** argv) {
  float value = 1;
  CHECK_FAILS(ddl_allreduce_mpi(NULL, &value, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
              DDL_ERROR_STATE, "DDL-4-64");
  int level = 0, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < 3; ++turn) {
    value = 1;
    CHECK_OK(ddl_allreduce_mpi(turn == 2 ? "-mode r" : "", &value, 1, MPI_FLOAT, MPI_SUM,
                               MPI_COMM_WORLD));
    CHECK(value == (float)size);
  }
  /* Communicators that are created and freed, possibly at the same address. */
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, turn == 0 ? rank % 2 : 0, rank, &part);
    int part_size = 0;
    MPI_Comm_size(part, &part_size);
    int sum = 1;
    CHECK_OK(ddl_allreduce_mpi(NULL, &sum, 1, MPI_INT, MPI_SUM, part));
    CHECK(sum == part_size);
    MPI_Comm_free(&part);
  }
  CHECK_FAILS(ddl_allreduce_mpi(NULL, &value, (size_t)-1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
              DDL_ERROR_CONFIG, "elements: -1");
  CHECK_FAILS(ddl_allreduce_mpi(NULL, &value, 1, MPI_FLOAT_INT, MPI_MAXLOC, MPI_COMM_WORLD),
              DDL_ERROR_CONFIG, "DDL-4-62");
  CHECK_FAILS(ddl_allreduce_mpi(NULL, &value, 1, MPI_FLOAT, MPI_LAND, MPI_COMM_WORLD),
              DDL_ERROR_CONFIG, "DDL-4-63");
  CHECK_OK(ddl_finalize());
  MPI_Finalize();
  return EXIT_SUCCESS;
}
