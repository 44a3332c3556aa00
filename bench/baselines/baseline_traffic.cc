// The bound: memory bandwidth of the same cores. Every rank makes an in-place pass (read, add, write) over a private
// buffer, all at the same time. P ranks move 2 P S bytes in a pass, as much as the best possible all-reduce of S bytes
// must move, so no all-reduce in memory can be faster than a pass. Usage: baseline_traffic <directory of the pipes>,
// with RANK and WORLD_SIZE in the environment, all ranks on one host.
#include <fcntl.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "bench/baselines/worker.h"

namespace {

// The widest SIMD of this machine is selected when the program starts.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void pass(float* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] += 1.0f;
}

// A counter in a file that all ranks map. A waiting rank yields its core: there may be more ranks than cores.
class Barrier {
 public:
  Barrier(const std::string& path, int ranks) : ranks_(ranks) {
    int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0) throw std::runtime_error("cannot create " + path);
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) throw std::bad_alloc();
    arrived_ = static_cast<std::atomic<long>*>(page);
  }
  void wait() {
    rounds_ += ranks_;
    arrived_->fetch_add(1);
    while (arrived_->load() < rounds_) sched_yield();
  }

 private:
  int ranks_;
  long rounds_ = 0;
  std::atomic<long>* arrived_ = nullptr;
};

class Traffic : public tutti::bench::Contender {
 public:
  Traffic(int rank, int size, const std::string& folder)
      : rank_(rank), size_(size), barrier_(folder + "/barrier", size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(float* data, std::size_t count) override { pass(data, count); }
  void barrier() override { barrier_.wait(); }
  bool reduces() const override { return false; }

 private:
  int rank_, size_;
  Barrier barrier_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* rank = std::getenv("RANK");
  const char* size = std::getenv("WORLD_SIZE");
  if (argc != 2 || !rank || !size) {
    std::fprintf(stderr, "usage: RANK=r WORLD_SIZE=n %s <directory of the pipes>\n", argv[0]);
    return 2;
  }
  Traffic traffic(std::atoi(rank), std::atoi(size), argv[1]);
  tutti::bench::serve(traffic, argv[1]);
  return 0;
}
