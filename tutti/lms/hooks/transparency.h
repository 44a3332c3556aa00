// Transparent functions: operators and autograd nodes that only call other operators.
#pragma once

#include <ATen/core/operator_name.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::lms {

// Transparent functions access no tensor data themselves, so nothing is pinned for them.
enum class Transparency : std::uint8_t {
  kNever,
  kUnlessInTile,  // runs in tiles, unless it is called for one
  kAlways
};

// True if a function of this name is the evaluation of a node of the autograd graph.
bool is_evaluation(std::string_view name);

// `op`: set if the function is an operator. `is_node`: the function is an autograd node. Without tiling, composite
// operators and nodes are not transparent, because planning is faster if each of them is one operator.
Transparency transparency_of(std::string_view name, const std::optional<c10::OperatorName>& op,
                             bool is_node, bool has_tiling);

}  // namespace tutti::lms
