#include "tutti/launch/probe/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tutti::launch {
namespace {

using LinkPredicate = std::function<bool(const LinkSpeed&)>;
using Describe = std::function<std::string(const std::string& from, const std::string& to,
                                           const LinkSpeed& link)>;

bool all_from(const Matrix& matrix, std::size_t host, const LinkPredicate& is_bad) {
  for (std::size_t to = 0; to < matrix.hosts.size(); ++to) {
    if (to != host && !is_bad(matrix.links[host][to])) return false;
  }
  return matrix.hosts.size() > 2;
}

bool all_to(const Matrix& matrix, std::size_t host, const LinkPredicate& is_bad) {
  for (std::size_t from = 0; from < matrix.hosts.size(); ++from) {
    if (from != host && !is_bad(matrix.links[from][host])) return false;
  }
  return matrix.hosts.size() > 2;
}

// Messages for hosts that are bad as a whole, then for the remaining bad links.
std::vector<std::string> blame(const Matrix& matrix, const LinkPredicate& is_bad,
                               const Describe& describe) {
  const std::size_t count = matrix.hosts.size();
  std::vector<bool> sends_badly(count), receives_badly(count);
  for (std::size_t host = 0; host < count; ++host) {
    sends_badly[host] = all_from(matrix, host, is_bad);
    receives_badly[host] = all_to(matrix, host, is_bad);
  }
  std::vector<std::string> sentences;
  for (std::size_t host = 0; host < count; ++host) {
    const LinkSpeed& example = matrix.links[host][host == 0 ? count - 1 : 0];
    const LinkSpeed& back = matrix.links[host == 0 ? count - 1 : 0][host];
    const std::string& name = matrix.hosts[host];
    if (sends_badly[host] && receives_badly[host]) {
      sentences.push_back(describe(name, "every host, both ways", example));
    } else if (sends_badly[host]) {
      sentences.push_back(describe(name, "every host", example));
    } else if (receives_badly[host]) {
      sentences.push_back(describe("every host", name, back));
    }
  }
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      const bool is_news = from != to && !sends_badly[from] && !receives_badly[to];
      if (is_news && is_bad(matrix.links[from][to])) {
        sentences.push_back(describe(matrix.hosts[from], matrix.hosts[to], matrix.links[from][to]));
      }
    }
  }
  return sentences;
}

double good_bandwidth(const Matrix& matrix) {
  std::vector<double> all;
  for (std::size_t from = 0; from < matrix.hosts.size(); ++from) {
    for (std::size_t to = 0; to < matrix.hosts.size(); ++to) {
      if (from != to && matrix.links[from][to].bandwidth > 0) {
        all.push_back(matrix.links[from][to].bandwidth);
      }
    }
  }
  if (all.empty()) return 0;
  const std::size_t at = all.size() * 3 / 4;
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(at));
  return all[at];
}

double megabits(double bytes_per_second) {
  return bytes_per_second * 8e-6;
}

std::string table(const Matrix& matrix, const std::string& title,
                  double (*value)(const LinkSpeed&)) {
  std::size_t width = 9;
  for (const std::string& host : matrix.hosts) width = std::max(width, host.size());
  std::string text = fmt::format("{}\n{:>{}}", title, "from \\ to", width);
  for (const std::string& host : matrix.hosts) text += fmt::format("  {:>{}}", host, width);
  text += '\n';
  for (std::size_t from = 0; from < matrix.hosts.size(); ++from) {
    text += fmt::format("{:>{}}", matrix.hosts[from], width);
    for (std::size_t to = 0; to < matrix.hosts.size(); ++to) {
      const LinkSpeed& link = matrix.links[from][to];
      text += from == to            ? fmt::format("  {:>{}}", "-", width)
              : !link.error.empty() ? fmt::format("  {:>{}}", "dead", width)
                                    : fmt::format("  {:>{}.0f}", value(link), width);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

// Circle method: one host stays, the others rotate by one position after every round. With an odd number, one host
// pauses in each round.
std::vector<Round> round_robin_schedule(int count) {
  const int slots = count + count % 2;
  std::vector<Round> rounds;
  for (int turn = 0; turn < slots - 1; ++turn) {
    Round round;
    for (int i = 0; i < slots / 2; ++i) {
      const auto host_at = [&](int slot) {
        return slot == 0 ? 0 : 1 + (slot - 1 + turn) % (slots - 1);
      };
      const int a = host_at(i), b = host_at(slots - 1 - i);
      if (a < count && b < count) round.emplace_back(std::min(a, b), std::max(a, b));
    }
    if (!round.empty()) rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> ring(int count) {
  if (count <= 3) return round_robin_schedule(count);
  std::vector<Round> rounds(count % 2 ? 3 : 2);
  for (int i = 0; i < count; ++i) {
    const int next = (i + 1) % count;
    const std::size_t round = next == 0 && count % 2 ? 2 : static_cast<std::size_t>(i % 2);
    rounds[round].emplace_back(std::min(i, next), std::max(i, next));
  }
  return rounds;
}

bool has_speeds(const Matrix& matrix) {
  return std::ranges::any_of(matrix.links, [](const std::vector<LinkSpeed>& row) {
    return std::ranges::any_of(row, [](const LinkSpeed& link) { return link.bandwidth > 0; });
  });
}

std::vector<std::string> find_slow_links(const Matrix& matrix) {
  const double good = good_bandwidth(matrix);
  const LinkPredicate is_slow = [&](const LinkSpeed& link) {
    return link.error.empty() && link.bandwidth > 0 && link.bandwidth < good / 2;
  };
  return blame(matrix, is_slow, [&](const auto& from, const auto& to, const LinkSpeed& link) {
    return fmt::format("{} to {}: {:.0f} Mbit/s, where good links have {:.0f}", from, to,
                       megabits(link.bandwidth), megabits(good));
  });
}

std::vector<std::string> find_dead_links(const Matrix& matrix) {
  const LinkPredicate is_dead = [](const LinkSpeed& link) { return !link.error.empty(); };
  return blame(matrix, is_dead, [](const auto& from, const auto& to, const LinkSpeed& link) {
    return fmt::format("{} to {}: no connection ({})", from, to, link.error);
  });
}

std::string render(const Matrix& matrix) {
  return table(matrix, "bandwidth, Mbit/s",
               [](const LinkSpeed& link) { return megabits(link.bandwidth); }) +
         table(matrix, "latency, microseconds",
               [](const LinkSpeed& link) { return link.latency * 1e6; });
}

}  // namespace tutti::launch
