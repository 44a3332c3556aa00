#include "tutti/comm/internal/observers.h"

#include <memory>
#include <numeric>

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

}  // namespace

void Observers::add(const Options& options, const topo::Grid& grid, const topo::Layout& layout,
                    int rank, const Statistics::Gather& gather) {
  const auto add = [&](const char* option, Statistics::Report report) {
    auto statistics = std::make_shared<Statistics>(
        options.integer(option), grid.size(), grid.dimensions.size(), gather, std::move(report));
    observers_.push_back([statistics](const Observation& o) { return statistics->note(o); });
  };
  if (options.integer("dump_iter") > 0) {
    add("dump_iter", [rank, &grid, &layout](const Summary& summary) {
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

Result Observers::report(const Operation& operation, const FlightEntry& entry,
                         const DimensionTimes& times) {
  if (is_observing_) return Result::ok();
  const Observation observation{
      .record = entry.record,
      .bytes = elements_of(operation) * static_cast<std::int64_t>(size_of(operation.dtype)),
      .seconds = 1e-9 * static_cast<double>(entry.nanoseconds()),
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
