// Worker for MPI_Allreduce in place, f32 sum. Built once with the compiler of each MPI: baseline_openmpi,
// baseline_mpich. Usage: baseline_<mpi> <directory of the pipes>, under the mpirun of that MPI.
#include <mpi.h>

#include <cstdio>

#include "bench/baselines/worker.h"

namespace {

class MpiBaseline : public tutti::bench::Contender {
 public:
  int rank() const override {
    int value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &value);
    return value;
  }
  int size() const override {
    int value = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &value);
    return value;
  }
  void all_reduce(float* data, std::size_t count) override {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <directory of the pipes>, under mpirun\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  MpiBaseline baseline;
  tutti::bench::serve(baseline, argv[1]);
  MPI_Finalize();
  return 0;
}
