// What the trainer needs of the case `gan3d`.
#pragma once

#include <memory>

#include "tutti/train/task.h"

namespace tutti::models::gan3d {

std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::gan3d
