// Table of the cases of `tutti train`. To add one: its directory, one row here and one in tasks.cc.
#pragma once

#include <span>
#include <string_view>

#include "tutti/train/run/config.h"

namespace tutti::models {

std::span<const train::CaseInfo* const> cases();
// Throws ConfigError, which lists the names.
const train::CaseInfo& find_case(std::string_view name);

}  // namespace tutti::models
