// Operators that only call others.
#pragma once

#include <ATen/core/operator_name.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::lms {

// Transparent functions use no memory themselves, so nothing is pinned for them.
enum class Transparency : std::uint8_t {
  kNever,
  kUnlessInTile,  // runs in tiles, unless it is called for one
  kAlways
};

// The evaluation of a node of the graph of autograd.
bool is_evaluation(std::string_view name);

// `op`: if the function is an operator. `is_node`: it is a node of autograd. Without tiling, composite operators and nodes
// are not transparent: planning is faster if they are one operator.
Transparency transparency_of(std::string_view name, const std::optional<c10::OperatorName>& op,
                             bool is_node, bool has_tiling);

}  // namespace tutti::lms
