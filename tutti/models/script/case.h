// A network that the user brings as a TorchScript file.
#pragma once

#include "tutti/train/run/config.h"

namespace tutti::models::script {

const train::CaseInfo& case_info();

}  // namespace tutti::models::script
