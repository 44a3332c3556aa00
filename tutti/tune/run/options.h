// Options of `tutti tune`.
#pragma once

#include "tutti/core/options.h"

namespace tutti::tune {

const OptionTable& tune_options();

}  // namespace tutti::tune
