// The case `gan3d` before it has a network: its options.
#pragma once

#include "tutti/train/run/config.h"

namespace tutti::models::gan3d {

const train::CaseInfo& case_info();

}  // namespace tutti::models::gan3d
