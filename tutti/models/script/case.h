// The case `script`: a custom model as a TorchScript file.
#pragma once

#include <memory>

#include "tutti/train/run/config.h"

namespace tutti::models::script {

const train::CaseInfo& case_info();
// Throws IoError if the file cannot be read as TorchScript.
std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::script
