#include "tutti/learn/tree/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/core/error.h"

namespace tutti::learn::tree {

std::vector<double> Model::importances() const {
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (const Tree& tree : trees) {
    // Importances are normalised per tree in a forest, and over all trees in boosting.
    std::vector<double> own(sums.size());
    for (const Node& node : tree.nodes)
      if (!node.is_leaf()) own[node.column] += std::max(0.0, node.gain);
    const double all = std::accumulate(own.begin(), own.end(), 0.0);
    const double factor = !averages ? 1 : all > 0 ? 1 / all : 0;
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += own[c] * factor;
  }
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  if (all > 0)
    for (double& sum : sums) sum /= all;
  return sums;
}

namespace {

[[noreturn]] void refuse(std::size_t tree, const std::string& what) {
  throw ConfigError("DDL-9-23", fmt::format("tree {} of the model: {}", tree, what));
}

void check_tree(const Model& model, std::size_t index) {
  const Tree& tree = model.trees[index];
  const auto size = static_cast<std::int32_t>(tree.nodes.size());
  if (size == 0) refuse(index, "it has no nodes.");
  if (tree.outputs != 1 && tree.outputs != model.outputs)
    refuse(index, fmt::format("{} values in a node, {} outputs of the model.", tree.outputs,
                              model.outputs));
  if (tree.values.size() != tree.nodes.size() * static_cast<std::size_t>(tree.outputs))
    refuse(index, fmt::format("{} values for {} nodes.", tree.values.size(), size));
  const int output = model.tree_output[index];
  if (output < 0 || output >= model.outputs)
    refuse(index, fmt::format("there is no output {}.", output));
  for (std::int32_t i = 0; i < size; ++i) {
    const Node& node = tree.nodes[i];
    if (node.is_leaf()) continue;
    if (node.left <= i || node.right <= i || node.left >= size || node.right >= size)
      refuse(index, fmt::format("node {} has no children after it.", i));
    if (node.column < 0 || node.column >= model.columns)
      refuse(index,
             fmt::format("node {} refers to column {}, which does not exist.", i, node.column));
    if (node.categories >= static_cast<std::int32_t>(tree.category_sets.size()))
      refuse(index, fmt::format("the set of categories of node {} is missing.", i));
  }
}

}  // namespace

void Model::check() const {
  if (columns < 0 || outputs < 1 || base.size() != static_cast<std::size_t>(outputs) ||
      tree_output.size() != trees.size())
    throw ConfigError("DDL-9-23", "the columns, outputs and trees of the model are inconsistent.");
  if (!column_names.empty() && column_names.size() != static_cast<std::size_t>(columns))
    throw ConfigError("DDL-9-23", fmt::format("the model has {} columns but {} column names.",
                                              columns, column_names.size()));
  for (std::size_t i = 0; i < trees.size(); ++i) check_tree(*this, i);
  if (!fourier_learners.empty() && fourier_columns.size() != static_cast<std::size_t>(columns))
    throw ConfigError("DDL-9-23",
                      fmt::format("the model has {} columns but its Fourier features have {}.",
                                  columns, fourier_columns.size()));
  for (const FourierLearner& one : fourier_learners)
    if (one.output < 0 || one.output >= outputs)
      throw ConfigError(
          "DDL-9-23", fmt::format("Fourier features add to output {} of {}.", one.output, outputs));
}

void Model::require_only_trees(const char* format) const {
  if (!fourier_learners.empty())
    throw ConfigError("DDL-9-25",
                      fmt::format("{} is not available for a model with learners other than trees. "
                                  "Train with tree_select_probability=1, or use JSON.",
                                  format));
}

void apply_link(Link link, int outputs, std::span<double> values) {
  if (link == Link::kLogistic)
    for (double& value : values) value = 1 / (1 + std::exp(-value));
  if (link == Link::kExp)
    for (double& value : values) value = std::exp(value);
  if (link != Link::kSoftmax) return;
  for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(outputs)) {
    const auto part = values.subspan(row, static_cast<std::size_t>(outputs));
    const double greatest = *std::max_element(part.begin(), part.end());
    double sum = 0;
    for (double& value : part) sum += value = std::exp(value - greatest);
    for (double& value : part) value /= sum;
  }
}

}  // namespace tutti::learn::tree
