#include "tutti/models/cases.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/spelling.h"
#include "tutti/models/science/climate_detect/case.h"
#include "tutti/models/science/climate_segment/case.h"
#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/models/science/gan3d/case.h"
#include "tutti/models/science/hep/case.h"
#include "tutti/models/script/case.h"
#include "tutti/models/vision/resnet/case.h"
#include "tutti/models/vision/unet3d/case.h"

namespace tutti::models {

std::span<const train::CaseInfo* const> cases() {
  static const std::array all = {
      &hep::case_info(),       &climate_detect::case_info(), &climate_segment::case_info(),
      &cosmoflow::case_info(), &gan3d::case_info(),          &resnet::case_info(),
      &unet3d::case_info(),    &script::case_info()};
  return all;
}

const train::CaseInfo& find_case(std::string_view name) {
  std::vector<std::string_view> names;
  for (const train::CaseInfo* info : cases()) {
    if (info->name == name) return *info;
    names.push_back(info->name);
  }
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  if (name.empty())
    throw ConfigError(
        "DDL-1-85",
        fmt::format(
            "Name a case or a TOML file with `case = \"...\"`, or use --model. Valid cases: {}.",
            known));
  const std::string_view nearest = nearest_name(name, names);
  throw ConfigError(
      "DDL-1-85",
      fmt::format("Unknown case '{}'.{} Valid cases: {}; or a TOML file.", name,
                  nearest.empty() ? "" : fmt::format(" Did you mean {}?", nearest), known));
}

}  // namespace tutti::models
