#include "tutti/plan/verify.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/build.h"
#include "tutti/plan/internal/interpreter.h"

namespace tutti::plan {
namespace internal {
namespace {

std::int64_t offset(const std::vector<std::int64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
}

// Offset of the output relative to the input when they share memory.
std::int64_t shared_offset(const Request& request, int rank) {
  switch (request.collective) {
    case Collective::kAllGather:
    case Collective::kGather: return -offset(request.counts, rank);
    case Collective::kReduceScatter:
    case Collective::kScatter: return offset(request.counts, rank);
    default: return 0;
  }
}

// Expected contents of the outputs.
class Expectation {
 public:
  Expectation(const std::vector<Request>& requests, int ranks) : requests_(requests) {
    const Request& request = requests[0];
    if (!is_reduction(request.collective)) return;
    const bool in_pieces = request.collective == Collective::kReduceScatter;
    const std::int64_t count = in_pieces ? offset(request.counts, ranks) : request.count;
    std::vector<Symbol> values(ranks);
    for (std::int64_t i = 0; i < count; ++i) {
      for (int r = 0; r < ranks; ++r) values[r] = Symbol::of(r, i);
      reduced_.push_back(ranks > 1 ? fold(values, true) : values[0]);
    }
  }
  // Expected value of element `i` of the output of `rank`.
  Symbol at(int rank, std::int64_t i) const {
    const Request& request = requests_[rank % requests_.size()];
    switch (request.collective) {
      case Collective::kAllReduce:
      case Collective::kReduce: return reduced_[i];
      case Collective::kReduceScatter: return reduced_[offset(request.counts, rank) + i];
      case Collective::kAllGather:
      case Collective::kGather: return in_pieces(request.counts, i, [](int) { return 0; });
      case Collective::kScatter: return Symbol::of(request.root, offset(request.counts, rank) + i);
      case Collective::kAllToAll: return sent_to(rank, i);
      default: return Symbol::of(request.root, i);
    }
  }

 private:
  // `i` is an index into the concatenated pieces; `begin(owner)` is the offset of the piece in its owner's input.
  template <class Begin>
  static Symbol in_pieces(const std::vector<std::int64_t>& counts, std::int64_t i, Begin begin) {
    int owner = 0;
    while (i >= counts[owner]) i -= counts[owner++];
    return Symbol::of(owner, begin(owner) + i);
  }
  Symbol sent_to(int rank, std::int64_t i) const {
    const std::int64_t count = requests_[0].count;
    if (requests_[0].send_counts.empty()) {
      return Symbol::of(static_cast<int>(i / count), rank * count + i % count);
    }
    return in_pieces(requests_[rank].receive_counts, i,
                     [&](int owner) { return offset(requests_[owner].send_counts, rank); });
  }
  const std::vector<Request>& requests_;
  std::vector<Symbol> reduced_;
};

void check_output(const Expectation& expectation, const Request& request, const Plan& plan,
                  const Memory& memory) {
  for (std::int64_t i = 0; i < plan.output_count; ++i) {
    const Symbol& got = memory.cells[memory.output + i];
    const Symbol want = expectation.at(plan.rank, i);
    const auto wrong = [&](const char* what) {
      throw Problem(fmt::format(
          "rank {} element {}: {} ({} terms of {}, completed {} of {}, {} reductions)", plan.rank,
          i, what, got.terms, want.terms, got.completed, want.completed, got.reductions));
    };
    if (got.sum != want.sum || got.terms != want.terms) wrong("wrong result");
    if (got.completed != want.completed) wrong("not completed exactly once");
    if (request.reproducible && got != want) wrong("not reduced in rank order in a single step");
  }
}

void check_input(const Plan& plan, const Memory& memory) {
  for (std::int64_t i = 0; i < plan.input_count; ++i) {
    if (memory.cells[memory.input + i] == Symbol::of(plan.rank, i)) continue;
    throw Problem(fmt::format("element {} of the input of rank {} was overwritten", i, plan.rank));
  }
}

int sync_count(const Lane& lane) {
  return static_cast<int>(std::count_if(lane.steps.begin(), lane.steps.end(), [](const Step& step) {
    return step.kind == StepKind::kHostBarrier;
  }));
}

std::vector<std::vector<int>> sync_groups(const Plan& plan) {
  auto groups = plan.groups;
  for (const Lane& lane : plan.lanes) {
    for (const Step& step : lane.steps) {
      if (step.kind == StepKind::kVendor)
        groups.resize(std::min<std::size_t>(groups.size(), step.group));
    }
  }
  return groups;
}

void check_hosts(const topo::Grid& grid, const std::vector<Plan>& plans) {
  for (const auto& host : grid.hosts) {
    const Plan& first = plans[host[0]];
    for (const int rank : host) {
      const Plan& plan = plans[rank];
      if (sync_groups(plan) != sync_groups(first)) {
        throw Problem(fmt::format("ranks {} and {} list other groups", host[0], rank));
      }
      if (sync_groups(plan).empty()) continue;
      for (std::size_t l = 0; l < std::max(plan.lanes.size(), first.lanes.size()); ++l) {
        if (plan.lanes.size() == first.lanes.size() &&
            sync_count(plan.lanes[l]) == sync_count(first.lanes[l])) {
          continue;
        }
        throw Problem(
            fmt::format("ranks {} and {} pass other host barriers in lane {}", host[0], rank, l));
      }
    }
  }
}

void check_completing(const Plan& plan) {
  for (const Lane& lane : plan.lanes) {
    for (const Step& step : lane.steps) {
      if (step.completes && !step.reduce)
        throw Problem("a step is marked 'completes' but does not reduce");
    }
  }
}

void check_lanes(const Plan& plan) {
  const auto is_host_step = [](const Step& step) { return step.kind == StepKind::kHostAllReduce; };
  for (const Lane& lane : plan.lanes) {
    if (std::any_of(lane.steps.begin(), lane.steps.end(), is_host_step) &&
        !plan.host_all_reduce()) {
      throw Problem(fmt::format("rank {} does more than its host's all-reduce", plan.rank));
    }
  }
  const auto touch = [](const Range& a, const Range& b) {
    return a.count > 0 && b.count > 0 && a.begin < b.begin + b.count && b.begin < a.begin + a.count;
  };
  for (std::size_t a = 0; a < plan.lanes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (touch(plan.lanes[a].input, plan.lanes[b].input) ||
          touch(plan.lanes[a].output, plan.lanes[b].output)) {
        throw Problem(fmt::format("lanes {} and {} of rank {} overlap", b, a, plan.rank));
      }
    }
  }
}

}  // namespace

Memory make_memory(const Plan& plan, const Request& request, bool in_place) {
  Memory memory;
  std::int64_t end = plan.input_count;
  if (in_place && request.collective != Collective::kAllToAll) {
    memory.output = shared_offset(request, plan.rank);
    memory.input = std::max<std::int64_t>(0, -memory.output);
    memory.output = std::max<std::int64_t>(0, memory.output);
    end = std::max(memory.input + plan.input_count, memory.output + plan.output_count);
  } else {
    memory.output = end;
    end += plan.output_count;
  }
  memory.scratch = end;
  memory.cells.resize(end + plan.scratch_count);
  for (std::int64_t i = 0; i < plan.input_count; ++i) {
    memory.cells[memory.input + i] = Symbol::of(plan.rank, i);
  }
  return memory;
}

}  // namespace internal

int Report::max_exchanges() const {
  int most = 0;
  for (const RankTraffic& rank : ranks) most = std::max(most, rank.exchanges);
  return most;
}

std::int64_t Report::max_bytes_sent() const {
  std::int64_t most = 0;
  for (const RankTraffic& rank : ranks) most = std::max(most, rank.bytes_sent);
  return most;
}

Report verify(const topo::Grid& grid, const std::vector<Request>& requests,
              const std::vector<Plan>& plans, const VerifyOptions& options) {
  Report report;
  const std::size_t dimensions = std::max<std::size_t>(1, grid.dimensions.size());
  report.ranks.assign(plans.size(), {0, 0, 0, std::vector<std::int64_t>(dimensions)});
  report.host_bytes_sent.resize(grid.hosts.size());
  report.host_bytes_received.resize(grid.hosts.size());
  try {
    internal::check_hosts(grid, plans);
    std::vector<internal::Memory> memories;
    for (const Plan& plan : plans) {
      internal::check_completing(plan);
      internal::check_lanes(plan);
      const Request& request = requests[plan.rank % requests.size()];
      memories.push_back(internal::make_memory(plan, request, options.in_place));
    }
    internal::Interpreter interpreter(grid, plans, std::move(memories),
                                      {requests[0].element_bytes, options.library_memory}, report);
    interpreter.run(options.seed);
    const internal::Expectation expectation(requests, static_cast<int>(plans.size()));
    for (const Plan& plan : plans) {
      const internal::Memory& memory = interpreter.memories()[plan.rank];
      internal::check_output(expectation, requests[plan.rank % requests.size()], plan, memory);
      if (!options.in_place) internal::check_input(plan, memory);
    }
  } catch (const internal::Problem& problem) {
    report.problem = problem.what();
  }
  return report;
}

Report verify(const topo::Grid& grid, const Request& request, const Choice& choice,
              const VerifyOptions& options) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < grid.size(); ++rank) {
    plans.push_back(build(grid, request, choice, rank));
  }
  return verify(grid, {request}, plans, options);
}

}  // namespace tutti::plan
