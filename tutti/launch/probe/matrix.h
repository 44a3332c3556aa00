// How fast every host reaches every other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tutti/launch/probe/link_probe.h"

namespace tutti::launch {

// Who meets whom, round after round, so that everybody meets everybody once and nobody is in two
// pairs of a round: count - 1 rounds (count for odd numbers), each of count / 2 pairs.
using Round = std::vector<std::pair<int, int>>;
std::vector<Round> round_robin_schedule(int count);
// Only neighbours, each in a ring with the next: two rounds, three for odd numbers.
std::vector<Round> ring(int count);

struct Matrix {
  std::vector<std::string> hosts;
  std::vector<std::vector<LinkSpeed>> links;  // [from][to]; the diagonal means nothing

  explicit Matrix(std::vector<std::string> names = {})
      : hosts(std::move(names)), links(hosts.size(), std::vector<LinkSpeed>(hosts.size())) {}
};

// Whether the speed of any link was measured.
bool has_speeds(const Matrix& matrix);
// Links with less than half of what the better quarter of them has, one sentence each. A host whose
// links are all slow in a direction is named once, alone.
std::vector<std::string> find_slow_links(const Matrix& matrix);
// Links that do not connect, one sentence each; a host that nobody reaches is named once.
std::vector<std::string> find_dead_links(const Matrix& matrix);

// Tables for people: bandwidth in Mbit/s and latency in microseconds, from the left to the top.
std::string render(const Matrix& matrix);

}  // namespace tutti::launch
