// Table of the tasks of the cases.
#pragma once

#include <memory>
#include <string_view>

#include "tutti/train/task.h"

namespace tutti::models {

// The options must be those of the case, and outlive the task. Throws ConfigError.
std::unique_ptr<train::Task> make_task(std::string_view case_name, const Options& options);

}  // namespace tutti::models
