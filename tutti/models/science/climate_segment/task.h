// The case `climate-segment` as the trainer sees it.
#pragma once

#include <memory>

#include "tutti/train/run/config.h"
#include "tutti/train/task.h"

namespace tutti::models::climate_segment {

std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::climate_segment
