#include "tutti/comm/observe/statistics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::comm {
namespace {

bool all_wait_for_all(plan::Collective collective) {
  switch (collective) {
    case plan::Collective::kAllReduce:
    case plan::Collective::kReduceScatter:
    case plan::Collective::kAllGather:
    case plan::Collective::kAllToAll:
    case plan::Collective::kBarrier: return true;
    default: return false;
  }
}

std::string host_of(int rank, const topo::Layout& layout) {
  for (const topo::Host& host : layout.hosts) {
    if (std::find(host.ranks.begin(), host.ranks.end(), rank) != host.ranks.end()) return host.name;
  }
  return "an unknown host";
}

}  // namespace

std::string Summary::text(const topo::Grid& grid, const topo::Layout& layout) const {
  std::string out =
      fmt::format("{} operations, {:.4g} MB: mean {:.1f} us, longest {:.1f} us;", operations,
                  1e-6 * static_cast<double>(bytes), 1e6 * mean, 1e6 * longest);
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (grid.dimensions[d].size == 1 && dimensions[d] == 0) continue;
    out += fmt::format(" {} {:.1f} us,", grid.dimensions[d].name, 1e6 * dimensions[d]);
  }
  out.back() = ';';
  for (const auto& [name, count] : algorithms) out += fmt::format(" {} {}x,", name, count);
  out.back() = ';';
  out += last_rank < 0 ? std::string(" no operation waited for all ranks")
                       : fmt::format(" last was rank {} on {}, {:.1f} us after the first",
                                     last_rank, host_of(last_rank, layout), 1e6 * lateness);
  return out;
}

Statistics::Statistics(std::int64_t every, int ranks, std::size_t dimensions, Gather gather,
                       Report report)
    : every_(static_cast<std::uint64_t>(every)),
      ranks_(ranks),
      dimensions_(std::min(dimensions, DimensionTimes{}.nanoseconds.size())),
      gather_(std::move(gather)),
      report_(std::move(report)) {}

Result Statistics::note(const Observation& observation) {
  ++summary_.operations;
  ++summary_.algorithms[observation.algorithm];
  summary_.bytes += observation.bytes;
  if (all_wait_for_all(observation.record.collective)) {
    ++waits_for_all_;
    mine_[kWaiting] += observation.seconds;
  }
  mine_[kSeconds] += observation.seconds;
  mine_[kLongest] = std::max(mine_[kLongest], observation.seconds);
  for (std::size_t d = 0; d < dimensions_; ++d) {
    mine_[kFirstDimension + d] += 1e-9 * static_cast<double>(observation.times.nanoseconds[d]);
  }
  if (summary_.operations < every_) return Result::ok();
  std::vector<double> all(kFields * static_cast<std::size_t>(ranks_));
  Result gathered = gather_(mine_, all);
  if (!gathered) return gathered;
  sum_up(all);
  report_(summary_);
  summary_ = {};
  waits_for_all_ = 0;
  mine_ = {};
  return Result::ok();
}

void Statistics::sum_up(std::span<const double> all) {
  const double operations = static_cast<double>(summary_.operations);
  const auto of = [&](int rank, std::size_t field) {
    return all[kFields * static_cast<std::size_t>(rank) + field];
  };
  summary_.dimensions.assign(dimensions_, 0);
  int first_rank = 0, last_rank = 0;
  for (int r = 0; r < ranks_; ++r) {
    summary_.mean += of(r, kSeconds) / operations / ranks_;
    summary_.longest = std::max(summary_.longest, of(r, kLongest));
    for (std::size_t d = 0; d < dimensions_; ++d) {
      summary_.dimensions[d] += of(r, kFirstDimension + d) / operations / ranks_;
    }
    if (of(r, kWaiting) > of(first_rank, kWaiting)) first_rank = r;
    if (of(r, kWaiting) < of(last_rank, kWaiting)) last_rank = r;
  }
  if (waits_for_all_ == 0 || ranks_ == 1) return;
  summary_.last_rank = last_rank;
  summary_.lateness =
      (of(first_rank, kWaiting) - of(last_rank, kWaiting)) / static_cast<double>(waits_for_all_);
}

}  // namespace tutti::comm
