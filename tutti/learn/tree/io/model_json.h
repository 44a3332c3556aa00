// JSON format of tree models; docs/formats/trees.md specifies it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Writes numbers that read back bitwise identical.
std::string to_json(const Model& model);
// Throws ConfigError (DDL-9-23), which describes the error; there are no partial results.
Model from_json(std::string_view text);

}  // namespace tutti::learn::tree
