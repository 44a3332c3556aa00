#include "tutti/plan/internal/symbol.h"

#include <algorithm>

#include "tutti/core/random.h"

namespace tutti::plan::internal {

Symbol Symbol::of(int rank, std::int64_t element) {
  Symbol symbol;
  symbol.sum =
      split_mix(split_mix(static_cast<std::uint64_t>(rank)) + static_cast<std::uint64_t>(element));
  symbol.terms = 1;
  symbol.first = symbol.last = rank;
  symbol.in_order = true;
  return symbol;
}

Symbol fold(std::span<const Symbol> values, bool completes) {
  Symbol result = values[0];
  for (const Symbol& value : values.subspan(1)) {
    result.in_order = result.in_order && value.terms == 1 && value.first == result.last + 1;
    result.last = value.last;
    result.sum += value.sum;
    result.terms += value.terms;
    result.reductions = std::max(result.reductions, value.reductions);
    result.completed += value.completed;
  }
  ++result.reductions;
  if (completes) ++result.completed;
  return result;
}

}  // namespace tutti::plan::internal
