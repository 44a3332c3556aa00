// The case `unet3d` as the trainer sees it.
#pragma once

#include <memory>

#include "tutti/train/run/config.h"
#include "tutti/train/task.h"

namespace tutti::models::unet3d {

std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::unet3d
