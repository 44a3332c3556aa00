// The case `hep` before it has a network: its options.
#pragma once

#include "tutti/train/run/config.h"

namespace tutti::models::hep {

const train::CaseInfo& case_info();

}  // namespace tutti::models::hep
