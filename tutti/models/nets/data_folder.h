// Where generated data are kept, and small things that tasks say about their metrics.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/train/run/run_folder.h"

namespace tutti::models {

// The folder `name` in the user's cache: generated data are kept there for the next run of the same
// size.
std::filesystem::path data_folder(const std::string& name);

// The value of that name; 0 when there is none.
double value_of(const train::Metrics& metrics, std::string_view name);

}  // namespace tutti::models
