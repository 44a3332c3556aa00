// The case `climate-segment`: its options and its network.
#pragma once

#include <memory>

#include "tutti/train/run/config.h"

namespace tutti::models::climate_segment {

const train::CaseInfo& case_info();
std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::climate_segment
