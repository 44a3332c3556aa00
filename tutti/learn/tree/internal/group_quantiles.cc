#include "tutti/learn/tree/internal/group_quantiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "tutti/learn/tree/bins/fixed_point_sum.h"

namespace tutti::learn::tree {
namespace {

constexpr int kKeyDigits = 8;  // of 8 bits
constexpr std::uint64_t kSignBit = 1ull << 63;

// Maps floating-point numbers to integers with the same order.
std::uint64_t key_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
double number_of(std::uint64_t key) {
  return std::bit_cast<double>((key & kSignBit) != 0 ? key & ~kSignBit : ~key);
}

struct Entry {
  std::uint64_t key;
  std::int64_t weight;  // in fixed-point units
};
static_assert(sizeof(Entry) == kQuantileBytes);

// Rows of this rank, sorted by group.
struct Sorted {
  std::vector<Entry> entries;
  std::vector<std::int64_t> ends;  // per group

  std::int64_t begin(std::size_t group) const { return group == 0 ? 0 : ends[group - 1]; }
};

class Entries {
 public:
  explicit Entries(const GroupedRows& rows)
      : rows_(rows), units_(rows.max_weight, rows.total_rows) {}
  Entry of(std::size_t row) const {
    const std::uint64_t key = key_of(rows_.labels[row] - rows_.scores[row]);
    if (rows_.weights.empty()) return {key, 1};
    const double weight = rows_.weights[row];
    return {key, rows_.has_integer_weights ? std::llround(weight) : units_.units(weight)};
  }

 private:
  const GroupedRows& rows_;
  FixedPointSum units_;
};

Sorted sort_by_group(const GroupedRows& rows, std::size_t groups, Threads& threads) {
  const auto all = static_cast<std::int64_t>(rows.groups.size());
  const std::int64_t parts = threads.count();
  std::vector<std::vector<std::int64_t>> offsets(static_cast<std::size_t>(parts));
  threads.run(parts, [&](std::int64_t part) {
    auto& counts = offsets[part];
    counts.resize(groups);
    for (std::int64_t row = all * part / parts; row < all * (part + 1) / parts; ++row)
      ++counts[rows.groups[row]];
  });
  Sorted sorted = {std::vector<Entry>(rows.groups.size()), {}};
  std::int64_t next = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    for (auto& counts : offsets) next += std::exchange(counts[group], next);
    sorted.ends.push_back(next);
  }
  const Entries entries(rows);
  threads.run(parts, [&](std::int64_t part) {
    auto& next_entry = offsets[part];
    const auto end = static_cast<std::size_t>(all * (part + 1) / parts);
    for (auto row = static_cast<std::size_t>(all * part / parts); row < end; ++row) {
      const auto entry = next_entry[rows.groups[row]]++;
      sorted.entries[entry] = entries.of(row);
    }
  });
  return sorted;
}

using Counts = std::array<std::int64_t, 256>;

std::size_t digit_of(std::uint64_t key, int digit) {
  return static_cast<std::size_t>(key >> (8 * (kKeyDigits - 1 - digit)) & 0xff);
}

// Returns, per group, the entry at which the cumulative weight in ascending order reaches `wanted`; groups with
// `wanted` 0 are skipped. Reorders entries within their group.
std::vector<std::uint64_t> select(Sorted& sorted, std::vector<std::int64_t> wanted,
                                  Threads& threads, comm::Communicator* communicator) {
  const std::size_t groups = wanted.size();
  std::vector<std::uint64_t> keys(groups);
  std::vector<std::int64_t> ends = sorted.ends;  // end of the entries that share the digits so far
  std::vector<Counts> weights(groups);
  for (int digit = 0; digit < kKeyDigits; ++digit) {
    threads.run(static_cast<std::int64_t>(groups), [&](std::int64_t index) {
      const auto group = static_cast<std::size_t>(index);
      weights[group].fill(0);
      if (wanted[group] == 0) return;
      for (std::int64_t i = sorted.begin(group); i < ends[group]; ++i) {
        const Entry& entry = sorted.entries[i];
        weights[group][digit_of(entry.key, digit)] += entry.weight;
      }
    });
    if (communicator != nullptr)
      communicator->all_reduce(Buffer::of<std::int64_t>({weights.front().data(), groups * 256}));
    threads.run(static_cast<std::int64_t>(groups), [&](std::int64_t index) {
      const auto group = static_cast<std::size_t>(index);
      if (wanted[group] == 0) return;
      std::size_t chosen = 0;
      while (wanted[group] > weights[group][chosen]) wanted[group] -= weights[group][chosen++];
      keys[group] = keys[group] << 8 | chosen;
      const auto first = sorted.entries.begin() + sorted.begin(group);
      const auto kept =
          std::partition(first, sorted.entries.begin() + ends[group],
                         [&](const Entry& entry) { return digit_of(entry.key, digit) == chosen; });
      ends[group] = kept - sorted.entries.begin();
    });
  }
  return keys;
}

}  // namespace

std::vector<GroupQuantile> group_quantiles(const GroupedRows& rows, int groups, double alpha,
                                           Threads& threads, comm::Communicator* communicator) {
  const auto size = static_cast<std::size_t>(groups);
  Sorted sorted = sort_by_group(rows, size, threads);
  std::vector<std::int64_t> totals(size);
  threads.run(groups, [&](std::int64_t index) {
    const auto group = static_cast<std::size_t>(index);
    for (std::int64_t i = sorted.begin(group); i < sorted.ends[group]; ++i)
      totals[group] += sorted.entries[i].weight;
  });
  if (communicator != nullptr) communicator->all_reduce(Buffer::of<std::int64_t>(totals));
  std::vector<std::int64_t> low(size), high(size);  // high: only if it is another entry
  for (std::size_t group = 0; group < size; ++group) {
    if (totals[group] == 0) continue;
    const double target = alpha * static_cast<double>(totals[group]);
    low[group] = std::clamp<std::int64_t>(std::llround(std::ceil(target)), 1, totals[group]);
    const auto above = std::min(std::llround(std::floor(target)) + 1LL, 0LL + totals[group]);
    if (above > low[group]) high[group] = above;
  }
  const std::vector<std::uint64_t> lower = select(sorted, low, threads, communicator);
  const bool is_between = std::any_of(high.begin(), high.end(), [](auto unit) { return unit > 0; });
  std::vector<std::uint64_t> upper;
  if (is_between) upper = select(sorted, high, threads, communicator);
  std::vector<GroupQuantile> quantiles(size);
  for (std::size_t group = 0; group < size; ++group) {
    if (totals[group] == 0) continue;
    const double value = number_of(lower[group]);
    quantiles[group] = {true,
                        high[group] == 0 ? value : value + (number_of(upper[group]) - value) / 2};
  }
  return quantiles;
}

}  // namespace tutti::learn::tree
