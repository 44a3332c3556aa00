// Worker for the all-reduce of Tutti: f32 sum in place, in library memory and in caller-allocated memory.
// Usage: worker_tutti <directory of the pipes>, under mpirun or with RANK and WORLD_SIZE.
#include <cstdio>

#include "bench/baselines/worker.h"
#include "tutti/comm/communicator.h"

namespace {

class Ours : public tutti::bench::Contender {
 public:
  explicit Ours(tutti::comm::Communicator& communicator) : communicator_(communicator) {}
  ~Ours() override { communicator_.free(library_); }
  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }

  void all_reduce(float* data, std::size_t count) override {
    communicator_.all_reduce({data, static_cast<std::int64_t>(count), tutti::DType::kF32});
  }

  float* allocate(const std::string& memory, std::size_t bytes) override {
    if (memory != "library") return Contender::allocate(memory, bytes);
    communicator_.free(library_);
    library_ = nullptr;  // allocate may throw
    library_ = communicator_.allocate(bytes);
    return static_cast<float*>(library_);
  }

 private:
  tutti::comm::Communicator& communicator_;
  void* library_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s <folder of the pipes>, under mpirun\n", argv[0]);
    return 2;
  }
  auto communicator = tutti::comm::Communicator::from_environment();
  Ours ours(*communicator);
  tutti::bench::serve(ours, argv[1]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "worker_tutti: %s\n", error.what());
  return 1;
}
