#include "tutti/plan/ranges.h"

#include <algorithm>

namespace tutti::plan {
namespace {

constexpr std::size_t kCacheLine = 64;

void join(std::vector<Range>& runs, std::size_t first, const Range& range) {
  if (range.count == 0) return;
  if (runs.size() > first) {
    Range& last = runs.back();
    if (last.space == range.space && last.begin + last.count == range.begin) {
      last.count += range.count;
      return;
    }
  }
  runs.push_back(range);
}

}  // namespace

Range split(const Range& range, int parts, int index, std::size_t element_bytes) {
  const bool fits = element_bytes > 0 && kCacheLine % element_bytes == 0;
  const std::int64_t unit = fits ? static_cast<std::int64_t>(kCacheLine / element_bytes) : 1;
  const std::int64_t units = (range.count + unit - 1) / unit;
  const auto boundary = [&](std::int64_t i) {
    return std::min(range.count, units / parts * i * unit + units % parts * i / parts * unit);
  };
  const std::int64_t begin = boundary(index);
  return {range.space, range.begin + begin, boundary(index + 1) - begin};
}

Pieces Pieces::of_split(const Range& range, int parts, std::size_t element_bytes) {
  Pieces pieces;
  pieces.is_split_ = true;
  pieces.ranges_.reserve(parts);
  pieces.first_.reserve(parts);
  for (int i = 0; i < parts; ++i) {
    pieces.add_piece();
    pieces.ranges_.push_back(split(range, parts, i, element_bytes));
  }
  return pieces;
}

void Pieces::append(const Range& range) {
  join(ranges_, first_.back(), range);
}

std::vector<Range> Pieces::runs(int first, int last) const {
  std::vector<Range> runs;
  if (first >= last) return runs;
  if (is_split_) {
    const Range &from = ranges_[first], &to = ranges_[last - 1];
    join(runs, 0, {from.space, from.begin, to.begin + to.count - from.begin});
    return runs;
  }
  for (std::size_t i = first_[first]; i < end_of(last - 1); ++i) join(runs, 0, ranges_[i]);
  return runs;
}

Range Pieces::only(int index) const {
  const std::size_t at = first_[index];
  return at < end_of(index) ? ranges_[at] : Range{};
}

std::int64_t Pieces::count(int index) const {
  std::int64_t count = 0;
  for (std::size_t i = first_[index]; i < end_of(index); ++i) count += ranges_[i].count;
  return count;
}

}  // namespace tutti::plan
