// JSON format of tree models; docs/formats/trees.md specifies it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Numbers are written such that they read back bitwise identical.
std::string to_json(const Model& model);
// Throws ConfigError (DDL-9-23) that describes the error; there are no partial results.
Model from_json(std::string_view text);

}  // namespace tutti::learn::tree
