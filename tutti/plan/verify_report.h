// Result of verifying the plans of all ranks (verify.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::plan {

struct RankTraffic {
  int exchanges = 0;                      // number of kExchange steps
  std::int64_t bytes_sent = 0;            // sent in exchanges
  std::int64_t bytes_mapped = 0;          // read and written through mapped memory
  std::vector<std::int64_t> bytes_along;  // bytes sent, by dimension
};

struct Report {
  // Empty if the plans are correct. Otherwise the first defect: a deadlock with the step at which each rank is blocked,
  // a race with both accesses, message sizes that differ, a wrong or incomplete result, a result divided twice, a
  // reduction out of order, a barrier left too early, groups or host barriers that differ on a host, ...
  std::string problem;
  int rounds = 0;  // exchanges on the longest dependency chain, all of the same duration
  std::vector<RankTraffic> ranks;
  std::vector<std::int64_t> host_bytes_sent;  // sent to other hosts in exchanges
  std::vector<std::int64_t> host_bytes_received;

  int max_exchanges() const;
  std::int64_t max_bytes_sent() const;
};

}  // namespace tutti::plan
