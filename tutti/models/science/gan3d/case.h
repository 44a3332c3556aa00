// The case `gan3d`: its options and its network.
#pragma once

#include <memory>

#include "tutti/train/run/config.h"

namespace tutti::models::gan3d {

const train::CaseInfo& case_info();
std::unique_ptr<train::Task> make_task(const Options& options);

}  // namespace tutti::models::gan3d
