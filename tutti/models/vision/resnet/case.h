// The case `resnet`: its options and its network.
#pragma once

#include <memory>

#include "tutti/train/run/config.h"

namespace tutti::models::resnet {

const train::CaseInfo& case_info();
std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::resnet
