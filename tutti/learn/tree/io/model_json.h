// Models as text; docs/formats/trees.md describes it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Every number is written so that it is read back to the bit.
std::string to_json(const Model& model);
// Throws ConfigError (DDL-9-23) that says what is wrong; nothing is half read.
Model from_json(std::string_view text);

}  // namespace tutti::learn::tree
