// Runs the plans of all ranks together, without memory, threads or time, and says whether they are
// right: for tests, and for whoever invents an algorithm.
//
// Ranks and lanes take turns at random. A message is only through when both sides have come to it
// (a transport may be kinder), a fold waits for both directions of its exchange. Values are
// symbols: who brought them, in what order they were folded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/plan/choice.h"
#include "tutti/plan/plan.h"
#include "tutti/topo/grid.h"

namespace tutti::plan {

struct VerifyOptions {
  unsigned seed = 1;  // of the order in which ranks and lanes take turns
  bool in_place = false;
};

struct RankTraffic {
  int exchanges = 0;                      // kExchange steps
  std::int64_t bytes_sent = 0;            // by exchanges
  std::int64_t bytes_mapped = 0;          // read and written through mapped memory
  std::vector<std::int64_t> bytes_along;  // sent, by dimension
};

struct Report {
  // Empty when all is well; otherwise the first thing that is wrong: a deadlock with the step each
  // rank stands at, a race with both accesses, sizes of a message that differ, a wrong, incomplete
  // or twice divided result, a fold out of order, a barrier left too early, groups or syncs that
  // differ on a host, ...
  std::string problem;
  int rounds = 0;  // exchanges one after the other on the longest path, each taking the same time
  std::vector<RankTraffic> ranks;
  std::vector<std::int64_t> host_bytes_sent;  // to other hosts, by exchanges
  std::vector<std::int64_t> host_bytes_received;

  int max_exchanges() const;
  std::int64_t max_bytes_sent() const;
};

// `requests` holds one for all ranks, or one per rank (all_to_all); `plans` one per rank.
Report verify(const topo::Grid& grid, const std::vector<Request>& requests,
              const std::vector<Plan>& plans, const VerifyOptions& options = {});

// Builds the plans of all ranks and verifies them.
Report verify(const topo::Grid& grid, const Request& request, const Choice& choice,
              const VerifyOptions& options = {});

}  // namespace tutti::plan
