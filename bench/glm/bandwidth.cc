#include "bench/glm/bandwidth.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "tutti/core/clock.h"

namespace tutti::bench {
namespace {

constexpr std::int64_t kWordsPerThread = 1 << 26;  // 512 MiB
constexpr int kReadings = 5;

}  // namespace

double read_bandwidth() {
  const int threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::vector<std::uint64_t>> arrays(threads);
  std::vector<std::uint64_t> sums(threads);
  const auto on_all = [&](auto body) {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([&, i] { body(i); });
  };
  on_all([&](int i) { arrays[i].assign(kWordsPerThread, 1); });
  double best = 0;
  for (int reading = 0; reading < kReadings; ++reading) {
    const Stopwatch watch;
    on_all([&](int i) {
      std::uint64_t lanes[32] = {};  // independent sums hide the latency of additions
      for (std::int64_t word = 0; word < kWordsPerThread; word += 32)
        for (int lane = 0; lane < 32; ++lane) lanes[lane] += arrays[i][word + lane];
      for (const std::uint64_t lane : lanes) sums[i] += lane;
    });
    best = std::max(best, static_cast<double>(kWordsPerThread) * 8 * threads / watch.seconds());
  }
  return sums[0] > 0 ? best : 0;
}

}  // namespace tutti::bench
