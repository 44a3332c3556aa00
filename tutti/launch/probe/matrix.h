// Matrix of the latency and bandwidth between all pairs of hosts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tutti/launch/probe/link_probe.h"

namespace tutti::launch {

// Round-robin schedule: every pair of hosts meets exactly once, and no host is in two pairs of one round. There are
// count - 1 rounds (count if it is odd) of count / 2 pairs each.
using Round = std::vector<std::pair<int, int>>;
std::vector<Round> round_robin_schedule(int count);
// Schedule for a ring, in which each host meets only the next: two rounds, three if `count` is odd.
std::vector<Round> ring(int count);

struct Matrix {
  std::vector<std::string> hosts;
  std::vector<std::vector<LinkSpeed>> links;  // [from][to]; the diagonal is unused

  explicit Matrix(std::vector<std::string> names = {})
      : hosts(std::move(names)), links(hosts.size(), std::vector<LinkSpeed>(hosts.size())) {}
};

// True if the bandwidth of any link was measured.
bool has_speeds(const Matrix& matrix);
// Messages for links with less than half the bandwidth of the upper quartile. A host whose links are all slow in one
// direction is named once instead.
std::vector<std::string> find_slow_links(const Matrix& matrix);
// Messages for links that do not connect. A host that no other host reaches is named once instead.
std::vector<std::string> find_dead_links(const Matrix& matrix);

// Human-readable tables: bandwidth in Mbit/s and latency in us, from the row to the column.
std::string render(const Matrix& matrix);

}  // namespace tutti::launch
