#include "tutti/core/spelling.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tutti {
namespace {

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest, longer;
  std::size_t least = 3, completions = 0;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(name, word);
    if (distance < least && distance < word.size()) {
      nearest = name;
      least = distance;
    }
    if (word.size() > 1 && name.starts_with(word)) {
      longer = name;
      ++completions;
    }
  }
  return nearest.empty() && completions == 1 ? longer : nearest;
}

}  // namespace tutti
