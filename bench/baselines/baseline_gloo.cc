// Gloo's all-reduce, f32 sum in place, over its TCP device.
// Usage: baseline_gloo <directory of the pipes> <own host name or address>, with RANK and WORLD_SIZE in
// the environment.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/baselines/worker.h"

namespace {

using Algorithm = gloo::AllreduceOptions::Algorithm;

std::shared_ptr<gloo::Context> connect(int rank, int size, const std::string& folder,
                                       const std::string& host) {
  gloo::transport::tcp::attr attr;
  attr.hostname = host;
  std::filesystem::create_directories(folder + "/store");
  gloo::rendezvous::FileStore store(folder + "/store");
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  auto device = gloo::transport::tcp::CreateDevice(attr);
  context->connectFullMesh(store, device);
  return context;
}

class GlooBaseline : public tutti::bench::Contender {
 public:
  explicit GlooBaseline(std::shared_ptr<gloo::Context> context) : context_(std::move(context)) {}
  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  void all_reduce(float* data, std::size_t count) override { run(data, count, algorithm_); }

  // Gloo leaves the choice of ring or bcube to the caller: the faster one for this buffer is used. All ranks choose the
  // same, because they sum their measurements.
  float* allocate(const std::string& memory, std::size_t bytes) override {
    float* data = Contender::allocate(memory, bytes);
    std::size_t count = bytes / sizeof(float);
    float seconds[2] = {};
    for (Algorithm algorithm : {Algorithm::RING, Algorithm::BCUBE})
      seconds[algorithm == Algorithm::BCUBE] = seconds_of(data, count, algorithm);
    run(seconds, 2, Algorithm::RING);
    algorithm_ = seconds[0] <= seconds[1] ? Algorithm::RING : Algorithm::BCUBE;
    return data;
  }

 private:
  void run(float* data, std::size_t count, Algorithm algorithm) {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(algorithm);
    options.setOutput(data, count);
    options.setReduceFunction(
        [](void* c, const void* a, const void* b, size_t n) { gloo::sum<float>(c, a, b, n); });
    gloo::allreduce(options);
  }

  float seconds_of(float* data, std::size_t count, Algorithm algorithm) {
    using Clock = std::chrono::steady_clock;
    const int runs = count > (1 << 18) ? 2 : 20;
    run(data, count, algorithm);
    auto start = Clock::now();
    for (int i = 0; i < runs; ++i) run(data, count, algorithm);
    return std::chrono::duration<float>(Clock::now() - start).count();
  }

  std::shared_ptr<gloo::Context> context_;
  Algorithm algorithm_ = Algorithm::RING;
};

}  // namespace

int main(int argc, char** argv) {
  const char* rank = std::getenv("RANK");
  const char* size = std::getenv("WORLD_SIZE");
  if (argc != 3 || !rank || !size) {
    std::fprintf(stderr, "usage: RANK=r WORLD_SIZE=n %s <directory of the pipes> <own host name>\n",
                 argv[0]);
    return 2;
  }
  GlooBaseline baseline(connect(std::atoi(rank), std::atoi(size), argv[1], argv[2]));
  tutti::bench::serve(baseline, argv[1]);
  return 0;
}
