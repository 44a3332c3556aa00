#include "tutti/plan/choice.h"

#include <fmt/ranges.h>

namespace tutti::plan {

std::string Choice::text() const {
  return fmt::format("{}", fmt::join(algorithms, " x "));
}

}  // namespace tutti::plan
