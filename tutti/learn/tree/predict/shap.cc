#include "tutti/learn/tree/predict/shap.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/dense_rows.h"

namespace tutti::learn::tree {
namespace {

// The path from the root to a node, one entry per distinct column. `weight` of entry i is the fraction of all orderings
// of these columns in which i of them are known and the node is reached. (Lundberg et al., "Consistent individualized
// feature attribution for tree ensembles".)
struct Entry {
  int column = -1;
  // Fraction of rows that follow the path if the column is unknown, known.
  double zero = 1, one = 1;
  double weight = 1;
};
using Path = std::vector<Entry>;

void extend(Path& path, double zero, double one, int column) {
  const auto depth = static_cast<int>(path.size());
  path.push_back({column, zero, one, depth == 0 ? 1.0 : 0.0});
  for (int i = depth - 1; i >= 0; --i) {
    auto& at = path[i];
    path[i + 1].weight += one * at.weight * (i + 1) / (depth + 1);
    at.weight = zero * at.weight * (depth - i) / (depth + 1);
  }
}

// Removes entry `index`.
void unwind(Path& path, std::size_t index) {
  const auto depth = static_cast<int>(path.size()) - 1;
  const double one = path[index].one, zero = path[index].zero;
  double next = path.back().weight;
  for (int i = depth - 1; i >= 0; --i) {
    auto& at = path[i];
    if (one != 0) {
      const double before = at.weight;
      at.weight = next * (depth + 1) / ((i + 1) * one);
      next = before - at.weight * zero * (depth - i) / (depth + 1);
    } else {
      at.weight = at.weight * (depth + 1) / (zero * (depth - i));
    }
  }
  for (std::size_t i = index; i + 1 < path.size(); ++i) {
    path[i].column = path[i + 1].column;
    path[i].zero = path[i + 1].zero;
    path[i].one = path[i + 1].one;
  }
  path.pop_back();
}

double unwound_sum(const Path& path, std::size_t index) {
  Path rest = path;
  unwind(rest, index);
  double sum = 0;
  for (const Entry& entry : rest) sum += entry.weight;
  return sum;
}

struct Walk {
  const Tree& tree;
  std::span<const double> row;
  double factor;
  int output, outputs;
  std::size_t columns;
  double* out;  // outputs x (columns + 1)

  void add(int column, double amount, std::int32_t leaf) const {
    const auto values = tree.value(leaf);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t to = tree.outputs > 1 ? k : static_cast<std::size_t>(output);
      out[to * (columns + 1) + static_cast<std::size_t>(column)] += amount * factor * values[k];
    }
  }

  void visit(std::int32_t at, Path path, double zero, double one, int column) const {
    extend(path, zero, one, column);
    const Node& node = tree.nodes[at];
    if (node.is_leaf()) {
      for (std::size_t i = 1; i < path.size(); ++i)
        add(path[i].column, unwound_sum(path, i) * (path[i].one - path[i].zero), at);
      return;
    }
    const bool is_left = tree.goes_left(node, row[node.column]);
    const std::int32_t hot = is_left ? node.left : node.right,
                       cold = is_left ? node.right : node.left;
    double known_zero = 1, known_one = 1;
    const auto known = std::find_if(path.begin() + 1, path.end(), [&](const Entry& entry) {
      return entry.column == node.column;
    });
    if (known != path.end()) {
      known_zero = known->zero;
      known_one = known->one;
      unwind(path, static_cast<std::size_t>(known - path.begin()));
    }
    const auto fraction = [&](std::int32_t child) {
      return node.cover > 0 ? tree.nodes[child].cover / node.cover : 0.5;
    };
    visit(hot, path, known_zero * fraction(hot), known_one, node.column);
    visit(cold, path, known_zero * fraction(cold), 0, node.column);
  }
};

// Adds the mean prediction of a tree, per output.
void add_mean(const Tree& tree, double factor, int output, std::size_t columns, double* out) {
  const double all = tree.nodes[0].cover;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!tree.nodes[i].is_leaf()) continue;
    const double fraction = tree.nodes.size() == 1 ? 1 : tree.nodes[i].cover / all;
    const auto values = tree.value(static_cast<std::int32_t>(i));
    for (std::size_t k = 0; k < values.size(); ++k)
      out[(tree.outputs > 1 ? k : static_cast<std::size_t>(output)) * (columns + 1) + columns] +=
          fraction * factor * values[k];
  }
}

}  // namespace

std::vector<double> shap_values(const Model& model, const Matrix& matrix, Threads& threads) {
  model.check();
  model.require_only_trees("SHAP values");
  if (matrix.columns != model.columns)
    throw ConfigError("DDL-9-21", fmt::format("the data has {} columns, the model has {}.",
                                              matrix.columns, model.columns));
  const auto columns = static_cast<std::size_t>(model.columns),
             outputs = static_cast<std::size_t>(model.outputs);
  const double factor = model.averages ? 1.0 / static_cast<double>(model.trees.size()) : 1;
  std::vector<double> means(outputs * (columns + 1));
  for (std::size_t k = 0; k < outputs; ++k) means[k * (columns + 1) + columns] = model.base[k];
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    if (model.trees[t].nodes.size() > 1 && !(model.trees[t].nodes[0].cover > 0))
      throw ConfigError("DDL-9-23",
                        fmt::format("tree {} has no covers, which SHAP values need.", t));
    add_mean(model.trees[t], factor, model.tree_output[t], columns, means.data());
  }
  const Matrix rows =
      matrix.storage == Storage::kCsc ? to_storage(matrix, Storage::kCsr, threads) : matrix;
  const double absent = model.absent_is_missing ? std::numeric_limits<double>::quiet_NaN() : 0;
  std::vector<double> out(static_cast<std::size_t>(matrix.rows) * means.size());
  threads.for_range(matrix.rows, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> buffer;
    std::int64_t stride = 0;
    const double* dense = dense_rows(rows, begin, end, buffer, stride, absent);
    for (std::int64_t row = begin; row < end; ++row) {
      double* own = out.data() + static_cast<std::size_t>(row) * means.size();
      std::copy(means.begin(), means.end(), own);
      for (std::size_t t = 0; t < model.trees.size(); ++t)
        Walk{model.trees[t],
             {dense + (row - begin) * stride, columns},
             factor,
             model.tree_output[t],
             model.outputs,
             columns,
             own}
            .visit(0, {}, 1, 1, -1);
    }
  });
  return out;
}

}  // namespace tutti::learn::tree
