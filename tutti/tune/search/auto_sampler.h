// The default search algorithm: chooses another one.
#pragma once

#include <memory>

#include "tutti/tune/search/sampler.h"
#include "tutti/tune/search/search_plan.h"

namespace tutti::tune {

std::unique_ptr<Sampler> make_auto_sampler(const SearchPlan& plan);

}  // namespace tutti::tune
