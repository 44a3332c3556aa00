// Options of the fusion engine.
#pragma once

#include "tutti/core/options.h"

namespace tutti::fusion {

const OptionTable& fusion_options();

}  // namespace tutti::fusion
