#include "tutti/comm/tuning/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tutti/comm/tuning/tuning.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/plan/fit.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::array kTunedBytes = {1 * kKiB,   16 * kKiB, 64 * kKiB,
                                    256 * kKiB, 4 * kMiB,  32 * kMiB};
constexpr std::size_t kMostChoices = 6;
constexpr double kHopeless = 3;
constexpr int kLeastRuns = 3, kMostRuns = 25;
// The smallest messages take less time than the skew between ranks, so many are timed together.
constexpr int kStreak = 16, kStreaks = 12;
// On one host there are fewer choices, and memory is fast: less to measure.
constexpr double kPartOnOneHost = 0.1;
constexpr std::int64_t kLargestOnOneHost = 4 * kMiB;

// Interference makes a run longer, never shorter, so this is the lower quartile instead of the median.
double typical(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

class Tuner {
 public:
  explicit Tuner(const TunerContext& context);
  ~Tuner() { context_.arena.free(data_); }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  Tuning measure();
  double elapsed() const { return elapsed_; }

 private:
  bool is_one_host() const { return context_.layout.hosts.size() == 1; }
  void allocate(std::int64_t bytes);
  void measure_size(std::int64_t bytes, Tuning& tuning);
  std::int64_t measure_eager();
  bool is_eager_faster(std::int64_t bytes);
  double streak(std::int64_t bytes);
  double time_of(std::int64_t bytes, double best);
  double once(std::int64_t bytes);
  double agree(double value);
  void all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) const;

  const TunerContext& context_;
  const Stopwatch watch_;
  double budget_;
  double elapsed_ = 0;  // on the slowest rank
  void* data_ = nullptr;
  std::int64_t largest_ = 0;
};

Tuner::Tuner(const TunerContext& context)
    : context_(context), budget_(context.options.number("tune_seconds")) {
  if (is_one_host()) budget_ *= kPartOnOneHost;
  allocate(is_one_host() ? kLargestOnOneHost : kTunedBytes.back());
}

// Falls back to a smaller buffer if memory is short; all ranks use the smallest size of any rank.
void Tuner::allocate(std::int64_t bytes) {
  for (largest_ = bytes; !data_; largest_ /= 4) {
    try {
      data_ = context_.arena.allocate(static_cast<std::size_t>(largest_));
      break;
    } catch (const MemoryError&) {
      if (largest_ < kTunedBytes.front()) throw;
    }
  }
  largest_ = -static_cast<std::int64_t>(agree(-static_cast<double>(largest_)));
}

// Maximum of `value` over all ranks. Also updates elapsed_ to the maximum over all ranks.
double Tuner::agree(double value) {
  std::array<double, 2> values = {value, watch_.seconds()};
  all_reduce(values.data(), 2, DType::kF64, ReduceOp::kMax);
  elapsed_ = values[1];
  return values[0];
}

void Tuner::all_reduce(void* data, std::int64_t count, DType dtype, ReduceOp op) const {
  context_.perform({.collective = plan::Collective::kAllReduce,
                    .dtype = dtype,
                    .op = op,
                    .input = data,
                    .output = data,
                    .count = count,
                    .name = "tune"});
}

double Tuner::once(std::int64_t bytes) {
  context_.perform({.collective = plan::Collective::kBarrier, .name = "tune"});
  const Stopwatch watch;
  all_reduce(data_, bytes / 4, DType::kF32, ReduceOp::kSum);
  return watch.seconds();
}

double Tuner::time_of(std::int64_t bytes, double best) {
  const double time_for_one = budget_ / 50;
  double first = agree(once(bytes));
  // The very first run builds the plan and maps memory.
  if (first < time_for_one) first = agree(once(bytes));
  if (first > kHopeless * best || first > budget_ / 10) return first;
  std::vector<double> times(static_cast<std::size_t>(
      std::clamp(time_for_one / first, double{kLeastRuns}, double{kMostRuns})));
  for (double& time : times) time = once(bytes);
  return agree(typical(times));
}

void Tuner::measure_size(std::int64_t bytes, Tuning& tuning) {
  auto choices = context_.planner.all_reduce_candidates(bytes);
  if (choices.size() > kMostChoices) choices.resize(kMostChoices);
  double best = 1e9;
  for (plan::Choice& choice : choices) {
    if (elapsed_ > budget_ && !tuning.measured.empty()) return;
    // A single measurement determines the choice, so the planner will run this candidate.
    context_.planner.set_measured({{plan::Collective::kAllReduce, bytes, choice}});
    choice.seconds = time_of(bytes, best);
    best = std::min(best, choice.seconds);
    tuning.measured.push_back({plan::Collective::kAllReduce, bytes, choice});
  }
}

// Mean time of consecutive operations, after one that brings the caches into the state this operation leaves.
double Tuner::streak(std::int64_t bytes) {
  once(bytes);
  const Stopwatch watch;
  for (int i = 0; i < kStreak; ++i) all_reduce(data_, bytes / 4, DType::kF32, ReduceOp::kSum);
  return watch.seconds() / kStreak;
}

// Alternates between the two protocols, so interference affects both.
bool Tuner::is_eager_faster(std::int64_t bytes) {
  std::array<std::vector<double>, 2> times;
  for (int run = 0; run < 2 * kStreaks; ++run) {
    const bool is_eager = run % 2 == 0;
    context_.planner.set_eager_bytes(is_eager ? bytes : bytes - 1);
    times[is_eager].push_back(streak(bytes));
  }
  context_.planner.set_eager_bytes(0);
  const auto least = [this](const std::vector<double>& of) {
    return agree(*std::min_element(of.begin(), of.end()));
  };
  const double eager = least(times[1]);
  return eager < least(times[0]);
}

// The eager protocol is faster up to some size; above it, reducing only a slice is. If one comparison would exceed the
// time budget, as with many more ranks than cores, the default is kept.
std::int64_t Tuner::measure_eager() {
  std::int64_t limit = kKiB / 2;
  const double once_each = agree(once(2 * limit));
  if (2 * kStreaks * (kStreak + 2) * once_each > budget_) {
    return context_.options.integer("eager_bytes");
  }
  while (limit < static_cast<std::int64_t>(plan::kMaxSlotBytes) && elapsed_ < budget_ &&
         is_eager_faster(2 * limit)) {
    limit *= 2;
  }
  return limit;
}

Tuning Tuner::measure() {
  Tuning tuning;
  if (is_one_host() && context_.options.is_default("eager_bytes")) {
    tuning.eager_bytes = measure_eager();
    context_.planner.set_eager_bytes(tuning.eager_bytes);
  }
  for (const std::int64_t bytes : kTunedBytes) {
    const auto& known = tuning.measured;
    // Assumes that time is proportional to size: an upper bound, tight for large sizes.
    const double expected = known.empty() ? 0
                                          : known.back().choice.seconds *
                                                static_cast<double>(bytes / known.back().bytes);
    if (bytes > largest_ || (!known.empty() && elapsed_ + 2 * expected > budget_)) break;
    measure_size(bytes, tuning);
  }
  return tuning;
}

void apply(const TunerContext& context, Tuning tuning) {
  context.grid = plan::fit_links(context.grid, tuning.measured);
  for (const topo::Dimension& dimension : context.grid.dimensions) {
    topo::link_of(dimension, context.links) = dimension.link;
  }
  if (tuning.eager_bytes >= 0 && context.options.is_default("eager_bytes")) {
    context.options.set("eager_bytes", std::to_string(tuning.eager_bytes), "measured");
    context.planner.set_eager_bytes(tuning.eager_bytes);
  }
  context.planner.set_measured(std::move(tuning.measured));
}

bool is_wanted(const TunerContext& context) {
  return context.size > 1 && context.options.number("tune_seconds") > 0 &&
         context.planner.has_choice();
}

}  // namespace

std::string tune(const TunerContext& context) {
  if (!is_wanted(context)) return {};
  // Only rank 0 reads the file, so all ranks use the same data whatever the files on other hosts contain.
  std::string key, kept;
  std::filesystem::path file;
  if (context.rank == 0) {
    key = tuning_key(topo::discover_machine(), context.grid, context.transport);
    file = tuning_file(context.options, key);
    if (!file.empty()) kept = read_tuning(file);
  }
  // A single exchange: it takes long if there are many ranks per core.
  const auto texts =
      context.exchange(fmt::format("{} {} {}{}", load_per_processor(), key.size(), key, kept));
  double load = 0;
  for (const std::string& text : texts) load = std::max(load, std::stod(text));
  const std::size_t length_at = texts[0].find(' ') + 1, key_at = texts[0].find(' ', length_at) + 1;
  const std::size_t length = std::stoul(texts[0].substr(length_at));
  key = texts[0].substr(key_at, length);
  kept = texts[0].substr(key_at + length);
  std::string origin;
  std::optional<Tuning> tuning = parse_tuning(kept, key, context.grid);
  if (tuning && !is_outdated(*tuning, load)) {
    origin = "read from " + file.string();
  } else {
    Tuner tuner(context);
    tuning = tuner.measure();
    tuning->load = load;
    origin = fmt::format("measured in {:.2f} s", tuner.elapsed());
    if (!file.empty()) {
      write_tuning(file, to_json(*tuning, key));
      origin += ", kept in " + file.string();
    }
  }
  apply(context, *std::move(tuning));
  return origin;
}

}  // namespace tutti::comm
