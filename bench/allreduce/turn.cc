#include "bench/allreduce/turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "bench/harness/statistics.h"

namespace tutti::bench {
namespace {

constexpr int kMaxIterations = 1'000'000;
// Longer operations are one batch each, and their check is the warm-up.
constexpr double kSlowSeconds = 0.3;

std::vector<double> parse_times(const std::string& answer) {
  std::istringstream fields(answer);
  std::string first;
  std::vector<double> times;
  fields >> first;
  for (double time; fields >> time;) times.push_back(time);
  return times;
}

}  // namespace

std::vector<double> take_turn(WorkerGroup& group, const std::string& memory, std::int64_t bytes,
                              const Turn& turn, double timeout) {
  std::string command = fmt::format("measure {} {} {} {} {}", memory, bytes, turn.warmup,
                                    turn.iterations, turn.batches);
  std::vector<std::vector<double>> ranks;
  for (const std::string& answer : group.ask(command, timeout))
    ranks.push_back(parse_times(answer));
  return slowest(ranks);
}

Turn calibrate(WorkerGroup& group, const std::string& memory, std::int64_t bytes,
               const Effort& effort, double timeout) {
  Turn turn;
  double seconds = 0;
  for (int pass = 0; pass < 3; ++pass) {
    seconds = std::max(take_turn(group, memory, bytes, turn, timeout).front(), 1e-9);
    turn.iterations = static_cast<int>(
        std::clamp(std::round(effort.batch_seconds / seconds), 1.0, double{kMaxIterations}));
    if (turn.iterations == 1) break;
  }
  turn.warmup = seconds > kSlowSeconds ? 0 : std::max(1, turn.iterations / 10);
  turn.batches = seconds > kSlowSeconds ? 1 : effort.batches;
  return turn;
}

}  // namespace tutti::bench
