// Reports about operations while they run: dump_iter, dbg_level 2.
#include <algorithm>
#include <memory>
#include <numeric>

#include "tutti/comm/internal/state.h"
#include "tutti/comm/observe/statistics.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

std::int64_t elements_of(const Operation& operation) {
  const auto sum = [](const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  };
  if (!operation.send_counts.empty()) return sum(operation.send_counts);
  return operation.counts.empty() ? operation.count : sum(operation.counts);
}

std::int64_t nanoseconds_of(const FlightEntry& entry) {
  return std::max<std::int64_t>(0, monotonic_ns(entry.end_ticks) - monotonic_ns(entry.start_ticks));
}

}  // namespace

void CommunicatorState::add_observers() {
  const Options& options = job->options;
  const int size = static_cast<int>(ranks.size());
  const auto gather = [this, size](std::span<const double> mine, std::span<double> all) {
    Operation operation{.collective = plan::Collective::kAllGather, .dtype = DType::kF64};
    operation.input = mine.data();
    operation.output = all.data();
    operation.counts.assign(static_cast<std::size_t>(size), static_cast<std::int64_t>(mine.size()));
    operation.name = "statistics";
    return run_one(operation);
  };
  const auto add = [&](const char* option, Statistics::Report report) {
    auto statistics = std::make_shared<Statistics>(
        options.integer(option), size, grid.dimensions.size(), gather, std::move(report));
    observers_.push_back([statistics](const Observation& o) { return statistics->note(o); });
  };
  if (options.integer("dump_iter") > 0) {
    add("dump_iter", [this](const Summary& summary) {
      if (rank == 0) log::info("{}", summary.text(grid, layout));
    });
  }
  if (options.integer("dbg_level") >= 2) {
    observers_.push_back([](const Observation& o) {
      log::info("{} {:.1f} us {}", o.record.text(), 1e6 * o.seconds, o.algorithm);
      return Result::ok();
    });
  }
}

// The step of one host is not timed by the executor.
DimensionTimes CommunicatorState::times_of(const FlightEntry& entry) const {
  if (entry.algorithm != executor->last_host_row()) return executor->times();
  DimensionTimes times;
  times.nanoseconds[0] = nanoseconds_of(entry);
  return times;
}

Result CommunicatorState::observe(const Operation& operation, const FlightEntry& entry,
                                  const DimensionTimes& times) {
  if (is_observing_) return Result::ok();  // what observers do themselves is not told
  const Observation observation{
      .record = entry.record,
      .bytes = elements_of(operation) * static_cast<std::int64_t>(size_of(operation.dtype)),
      .seconds = 1e-9 * static_cast<double>(nanoseconds_of(entry)),
      .times = times,
      .algorithm = entry.algorithm};
  is_observing_ = true;
  Result outcome = Result::ok();
  for (std::size_t i = 0; i < observers_.size() && outcome; ++i) {
    outcome = observers_[i](observation);
  }
  is_observing_ = false;
  return outcome;
}

}  // namespace tutti::comm
