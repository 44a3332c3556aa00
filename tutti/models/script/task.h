#pragma once

#include <memory>

#include "tutti/train/task.h"

namespace tutti::models::script {

// Throws IoError when the file cannot be read as TorchScript.
std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::script
