// Every case that `tutti train` knows. Adding one: its folder, one row here and one in tasks.cc.
#pragma once

#include <span>
#include <string_view>

#include "tutti/train/run/config.h"

namespace tutti::models {

std::span<const train::CaseInfo* const> cases();
// Throws ConfigError that lists the names.
const train::CaseInfo& find_case(std::string_view name);

}  // namespace tutti::models
