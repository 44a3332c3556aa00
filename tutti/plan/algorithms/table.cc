#include "tutti/plan/algorithms/table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tutti::plan {

std::span<const Algorithm> algorithms() {
  static const std::array table{
      direct(),           host_eager(),         host_direct(),  host_staged(),       ring(),
      halving_doubling(), recursive_doubling(), double_tree(),  knomial(),           pairwise(),
      vendor(),           dissemination(),      send_receive(), multi_dimensional(),
  };
  return table;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto table = algorithms();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Algorithm& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string table_text() {
  std::string text = "| name | mode | what it does | collectives |\n|---|---|---|---|\n";
  for (const Algorithm& row : algorithms()) {
    std::string letters, collectives;
    for (const char letter : row.letters)
      letters += fmt::format("{}{}", letters.empty() ? "" : " ", letter);
    for (int c = 0; c < kCollectiveCount; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (!row.supports(collective, {.ranks = 2, .mapped = true})) continue;
      collectives += fmt::format("{}{}", collectives.empty() ? "" : ", ", name_of(collective));
    }
    text += fmt::format("| {} | {} | {} | {} |\n", row.name, letters, row.description, collectives);
  }
  return text;
}

}  // namespace tutti::plan
