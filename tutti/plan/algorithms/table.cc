#include "tutti/plan/algorithms/table.h"

#include <algorithm>
#include <array>

namespace tutti::plan {

std::span<const Algorithm> algorithms() {
  static const std::array table{
      direct(),        ring(),         halving_doubling(),  recursive_doubling(),
      double_tree(),   knomial(),      pairwise(),          vendor(),
      dissemination(), send_receive(), multi_dimensional(),
  };
  return table;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto table = algorithms();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Algorithm& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tutti::plan
