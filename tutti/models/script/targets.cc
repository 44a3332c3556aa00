#include "tutti/models/script/targets.h"

#include <fmt/format.h>

#include <cmath>

#include "tutti/core/error.h"

namespace tutti::models::script {
namespace {

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

std::string shape_hint(Loss loss, const Expected& expected, const Shape& found) {
  if (loss != Loss::kCrossEntropy) return "Save targets of the shape of the output.";
  if (found.size() == expected.target.size() + 1 && found.front() == 1)
    return "Drop the extent of 1: labels[:, 0] in NumPy.";
  if (found.size() == expected.target.size() + 1 && found.front() == expected.classes)
    return "One-hot vectors become class numbers by numpy.argmax(labels, axis=1).";
  return "cross_entropy takes class numbers, one per sample (or pixel).";
}

}  // namespace

std::string shape_text(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

Expected expected_target(Loss loss, const Shape& output) {
  if (loss != Loss::kCrossEntropy) return {output, 0};
  if (output.empty() || output[0] < 2)
    throw ConfigError(
        "DDL-9-62",
        fmt::format("The network returns {} for a sample. cross_entropy needs one number per "
                    "class, at least 2: set `loss` to binary_cross_entropy for two classes from "
                    "one number, or to mean_squared or mean_absolute for regression.",
                    shape_text(output)));
  return {Shape(output.begin() + 1, output.end()), output[0]};
}

void check_target_shape(Loss loss, const Expected& expected, const RowFiles& files) {
  const Shape& found = files.target_shape();
  const bool fits = loss == Loss::kCrossEntropy
                        ? found == expected.target
                        : without_ones(found) == without_ones(expected.target);
  if (fits) return;
  throw IoError(
      "DDL-9-62",
      fmt::format("{}: rows of data set '{}' have shape {}, and {} of this network's "
                  "output needs {}. {}",
                  files.first_file(), files.target_name(), shape_text(found),
                  kLossNames[std::size_t(loss)],
                  expected.target.empty() ? "single numbers" : shape_text(expected.target),
                  shape_hint(loss, expected, found)));
}

std::string target_fault(Loss loss, std::int64_t classes, float value) {
  if (loss == Loss::kCrossEntropy) {
    if (std::floor(value) != value)
      return fmt::format(
          "class numbers from 0 to {}. For regression, set `loss` to mean_squared or mean_absolute",
          classes - 1);
    if (value < 0 || value >= static_cast<float>(classes))
      return fmt::format("class numbers from 0 to {}: the network returns {} numbers", classes - 1,
                         classes);
  }
  if (loss == Loss::kBinaryCrossEntropy && (value < 0 || value > 1))
    return "0, 1, or probabilities between them";
  return "";
}

}  // namespace tutti::models::script
