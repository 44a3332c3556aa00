// Result of running the plans of all ranks together (verify.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::plan {

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

}  // namespace tutti::plan
