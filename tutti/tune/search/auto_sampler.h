// The default search algorithm: chooses another one.
#pragma once

#include <memory>

#include "tutti/tune/search/sampler.h"

namespace tutti::tune {

std::unique_ptr<Sampler> make_auto_sampler(const SearchPlan& plan);

}  // namespace tutti::tune
