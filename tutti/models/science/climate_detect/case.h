// The case `climate-detect` before it has a network: its options.
#pragma once

#include "tutti/train/run/config.h"

namespace tutti::models::climate_detect {

const train::CaseInfo& case_info();

}  // namespace tutti::models::climate_detect
