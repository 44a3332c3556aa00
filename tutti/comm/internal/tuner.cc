#include "tutti/comm/internal/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tutti/comm/transport/mpi/mpi_transport.h"
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
// The smallest vectors take less time than lining up the ranks differs, so they are timed by many.
constexpr int kStreak = 16, kStreaks = 12;
// One host has one choice and fast memory: there is less to find out.
constexpr double kPartOnOneHost = 0.1;
constexpr std::int64_t kLargestOnOneHost = 4 * kMiB;

// What disturbs a run makes it longer, never shorter: so the lower quartile, not the median.
double typical(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

class Tuner {
 public:
  Tuner(Communicator& communicator, Communicator::State& state);
  ~Tuner() { communicator_.free(data_); }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  Tuning measure();
  double elapsed() const { return elapsed_; }

 private:
  bool is_one_host() const { return state_.layout.hosts.size() == 1; }
  void allocate(std::int64_t bytes);
  void measure_size(std::int64_t bytes, Tuning& tuning);
  std::int64_t measure_eager();
  bool is_eager_faster(std::int64_t bytes);
  double streak(std::int64_t bytes);
  double time_of(std::int64_t bytes, double best);
  double once(std::int64_t bytes);
  double agree(double value);

  Communicator& communicator_;
  Communicator::State& state_;
  const Stopwatch watch_;
  double budget_;
  double elapsed_ = 0;  // on the slowest rank
  void* data_ = nullptr;
  std::int64_t largest_ = 0;
};

Tuner::Tuner(Communicator& communicator, Communicator::State& state)
    : communicator_(communicator),
      state_(state),
      budget_(state.job->options.number("tune_seconds")) {
  if (is_one_host()) budget_ *= kPartOnOneHost;
  allocate(is_one_host() ? kLargestOnOneHost : kTunedBytes.back());
}

// Less will do where memory is short; all ranks go by the one that has least.
void Tuner::allocate(std::int64_t bytes) {
  for (largest_ = bytes; !data_; largest_ /= 4) {
    try {
      data_ = communicator_.allocate(static_cast<std::size_t>(largest_));
      break;
    } catch (const MemoryError&) {
      if (largest_ < kTunedBytes.front()) throw;
    }
  }
  largest_ = -static_cast<std::int64_t>(agree(-static_cast<double>(largest_)));
}

// The largest of all ranks' values, and of their clocks.
double Tuner::agree(double value) {
  std::array<double, 2> values = {value, watch_.seconds()};
  communicator_.all_reduce({values.data(), 2, DType::kF64}, ReduceOp::kMax, {"tune"});
  elapsed_ = values[1];
  return values[0];
}

double Tuner::once(std::int64_t bytes) {
  communicator_.barrier({"tune"});
  const Stopwatch watch;
  communicator_.all_reduce(Buffer{data_, bytes / 4, DType::kF32}, ReduceOp::kSum, {"tune"});
  return watch.seconds();
}

double Tuner::time_of(std::int64_t bytes, double best) {
  const double time_for_one = budget_ / 50;
  double first = agree(once(bytes));
  // The very first builds the plan and maps memory.
  if (first < time_for_one) first = agree(once(bytes));
  if (first > kHopeless * best || first > budget_ / 10) return first;
  std::vector<double> times(static_cast<std::size_t>(
      std::clamp(time_for_one / first, double{kLeastRuns}, double{kMostRuns})));
  for (double& time : times) time = once(bytes);
  return agree(typical(times));
}

void Tuner::measure_size(std::int64_t bytes, Tuning& tuning) {
  auto choices = plan::candidates(state_.grid,
                                  {.collective = plan::Collective::kAllReduce, .count = bytes / 4});
  if (choices.size() > kMostChoices) choices.resize(kMostChoices);
  double best = 1e9;
  for (plan::Choice& choice : choices) {
    if (elapsed_ > budget_ && !tuning.measured.empty()) return;
    // The only measurement there is decides, so this is what will be run.
    state_.planner->set_measured({{plan::Collective::kAllReduce, bytes, choice}});
    choice.seconds = time_of(bytes, best);
    best = std::min(best, choice.seconds);
    tuning.measured.push_back({plan::Collective::kAllReduce, bytes, choice});
  }
}

// The time of one operation among many, after one that finds the caches as its kind leaves them.
double Tuner::streak(std::int64_t bytes) {
  const Buffer buffer{data_, bytes / 4, DType::kF32};
  once(bytes);
  const Stopwatch watch;
  for (int i = 0; i < kStreak; ++i) communicator_.all_reduce(buffer, ReduceOp::kSum, {"tune"});
  return watch.seconds() / kStreak;
}

// Both ways in turn, so that what disturbs one disturbs the other.
bool Tuner::is_eager_faster(std::int64_t bytes) {
  std::array<std::vector<double>, 2> times;
  for (int run = 0; run < 2 * kStreaks; ++run) {
    const bool is_eager = run % 2 == 0;
    state_.host->set_eager_limit(static_cast<std::size_t>(is_eager ? bytes : bytes - 1));
    times[is_eager].push_back(streak(bytes));
  }
  state_.host->set_eager_limit(0);
  const auto least = [this](const std::vector<double>& of) {
    return agree(*std::min_element(of.begin(), of.end()));
  };
  const double eager = least(times[1]);
  return eager < least(times[0]);
}

// The slots are faster up to some size, then folding only a slice is. Where one comparison would
// take longer than there is time, as with many more ranks than cores, the default stays.
std::int64_t Tuner::measure_eager() {
  std::int64_t limit = kKiB / 2;
  const double once_each = agree(once(2 * limit));
  if (2 * kStreaks * (kStreak + 2) * once_each > budget_) {
    return state_.job->options.integer("eager_bytes");
  }
  while (limit < static_cast<std::int64_t>(kEagerBytes) && elapsed_ < budget_ &&
         is_eager_faster(2 * limit)) {
    limit *= 2;
  }
  return limit;
}

Tuning Tuner::measure() {
  Tuning tuning;
  if (is_one_host() && state_.job->options.is_default("eager_bytes")) {
    tuning.eager_bytes = measure_eager();
    state_.host->set_eager_limit(static_cast<std::size_t>(tuning.eager_bytes));
  }
  for (const std::int64_t bytes : kTunedBytes) {
    const auto& known = tuning.measured;
    // As if time grew with size: never less than it takes, once sizes are large.
    const double expected = known.empty() ? 0
                                          : known.back().choice.seconds *
                                                static_cast<double>(bytes / known.back().bytes);
    if (bytes > largest_ || (!known.empty() && elapsed_ + 2 * expected > budget_)) break;
    measure_size(bytes, tuning);
  }
  return tuning;
}

void apply(Communicator::State& state, Tuning tuning) {
  state.grid = plan::fit_links(state.grid, tuning.measured);
  for (const topo::Dimension& dimension : state.grid.dimensions) {
    topo::LinkTable& links = state.job->links;
    topo::Link& link = dimension.mapped ? (dimension.name == "socket" ? links.socket : links.memory)
                       : dimension.name == "rack"  ? links.rack
                       : dimension.name == "aisle" ? links.aisle
                                                   : links.node;
    link = dimension.link;
  }
  if (tuning.eager_bytes >= 0 && state.job->options.is_default("eager_bytes")) {
    state.job->options.set("eager_bytes", std::to_string(tuning.eager_bytes), "measured");
    state.host->set_eager_limit(static_cast<std::size_t>(tuning.eager_bytes));
  }
  state.planner->set_measured(std::move(tuning.measured));
}

bool is_wanted(const Communicator::State& state) {
  return state.ranks.size() > 1 && state.job->options.number("tune_seconds") > 0 &&
         state.planner->has_choice();
}

}  // namespace

void tune(Communicator& communicator, Communicator::State& state) {
  if (!is_wanted(state)) return;
  // Rank 0 alone reads, so that all ranks know the same whatever the others' disks hold.
  std::string key, kept;
  std::filesystem::path file;
  if (state.rank == 0) {
    const std::string transport = state.job->transport->name();
    key = tuning_key(topo::discover_machine(), state.grid,
                     transport == "mpi" ? transport + "_" + mpi_library() : transport);
    file = tuning_file(state.job->options, key);
    if (!file.empty()) kept = read_tuning(file);
  }
  // One exchange: with many ranks per core each takes long.
  const auto texts =
      state.exchange(fmt::format("{} {} {}{}", load_per_processor(), key.size(), key, kept));
  double load = 0;
  for (const std::string& text : texts) load = std::max(load, std::stod(text));
  const std::size_t length_at = texts[0].find(' ') + 1, key_at = texts[0].find(' ', length_at) + 1;
  const std::size_t length = std::stoul(texts[0].substr(length_at));
  key = texts[0].substr(key_at, length);
  kept = texts[0].substr(key_at + length);
  std::optional<Tuning> tuning = parse_tuning(kept, key, state.grid);
  if (tuning && !is_outdated(*tuning, load)) {
    state.tuning = "read from " + file.string();
  } else {
    Tuner tuner(communicator, state);
    tuning = tuner.measure();
    tuning->load = load;
    state.tuning = fmt::format("measured in {:.2f} s", tuner.elapsed());
    if (!file.empty()) {
      write_tuning(file, to_json(*tuning, key));
      state.tuning += ", kept in " + file.string();
    }
  }
  apply(state, *std::move(tuning));
}

}  // namespace tutti::comm
