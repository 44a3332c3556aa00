#include "tutti/models/tasks.h"

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/models/cases.h"
#include "tutti/models/science/climate_detect/case.h"
#include "tutti/models/science/climate_segment/case.h"
#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/models/science/gan3d/case.h"
#include "tutti/models/science/hep/case.h"
#include "tutti/models/script/case.h"
#include "tutti/models/vision/resnet/case.h"
#include "tutti/models/vision/unet3d/case.h"

namespace tutti::models {

namespace {

struct Row {
  std::string_view case_name;
  std::unique_ptr<train::Task> (*make)(const Options&);
};
constexpr Row kTasks[] = {
    {"hep", hep::make_task},
    {"climate-detect", climate_detect::make_task},
    {"climate-segment", climate_segment::make_task},
    {"resnet", resnet::make_task},
    {"cosmoflow", cosmoflow::make_task},
    {"unet3d", unet3d::make_task},
    {"gan3d", gan3d::make_task},
    {"script", script::make_task},
};

}  // namespace

std::unique_ptr<train::Task> make_task(std::string_view case_name, const Options& options) {
  const train::CaseInfo& info = find_case(case_name);
  for (const Row& row : kTasks)
    if (row.case_name == info.name) return row.make(options);
  throw ConfigError("DDL-1-95", fmt::format("The case '{}' has no network.", info.name));
}

}  // namespace tutti::models
