// Checks that a loss can be computed from the targets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/models/script/rows.h"

namespace tutti::models::script {

// Choices of the option `loss`.
enum class Loss { kCrossEntropy, kBinaryCrossEntropy, kMeanSquared, kMeanAbsolute };
inline constexpr std::array kLossNames = {"cross_entropy", "binary_cross_entropy", "mean_squared",
                                          "mean_absolute"};

using Shape = std::vector<std::int64_t>;

// "(3, 32, 32)"; "()" for single numbers.
std::string shape_text(const Shape& shape);

// The shape of a target for a network that returns `output` for one sample, and the number of classes (cross_entropy
// only). Throws ConfigError if the loss cannot be computed from such an output.
struct Expected {
  Shape target;
  std::int64_t classes = 0;
};
Expected expected_target(Loss loss, const Shape& output);

// Throws IoError, which names the file, if the targets of `files` have another shape. Dimensions of size 1 are ignored
// if the loss compares element by element.
void check_target_shape(Loss loss, const Expected& expected, const RowFiles& files);

// The error in a target of this value and the valid values; empty if it is valid. Finite values
// only: files with others cannot be read.
std::string target_fault(Loss loss, std::int64_t classes, float value);

}  // namespace tutti::models::script
