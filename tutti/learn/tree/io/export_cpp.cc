#include <fmt/format.h>

#include <cmath>

#include "tutti/learn/tree/io/export.h"

namespace tutti::learn::tree {
namespace {

std::string number(double value) {
  return std::isinf(value) ? "__builtin_inf()" : fmt::format("{:a}", value);
}

std::string condition(const Tree& tree, const Node& node) {
  const std::string x = fmt::format("x[{}]", node.column);
  const std::string missing = fmt::format("{0} != {0}", x);
  std::string test;
  if (node.categories < 0) {
    test = fmt::format("{} <= {}", x, number(node.threshold));
    return node.missing_left ? fmt::format("{} || {}", test, missing) : test;
  }
  const auto& set = tree.category_sets[node.categories];
  const auto any = [&](const std::vector<std::int64_t>& codes) {
    std::string text = "false";
    for (const std::int64_t code : codes) text += fmt::format(" || c == {}", code);
    return text;
  };
  // A lambda, because it is used as a condition.
  return fmt::format(
      "[&] {{ if ({1}) return {2}; const long long c = (long long){0}; return {3}{4}; }}()", x,
      missing, node.missing_left, any(set.left),
      node.missing_left ? fmt::format(" || !({})", any(set.known)) : "");
}

void add_node(const Tree& tree, std::int32_t at, int output, const std::string& indent,
              std::string& out) {
  const Node& node = tree.nodes[at];
  if (node.is_leaf()) {
    const auto values = tree.value(at);
    for (std::size_t k = 0; k < values.size(); ++k)
      out += fmt::format("{}y[{}] += {};\n", indent,
                         tree.outputs > 1 ? static_cast<int>(k) : output, number(values[k]));
    return;
  }
  out += fmt::format("{}if ({}) {{\n", indent, condition(tree, node));
  add_node(tree, node.left, output, indent + " ", out);
  out += indent + "} else {\n";
  add_node(tree, node.right, output, indent + " ", out);
  out += indent + "}\n";
}

}  // namespace

std::string to_cpp(const Model& model, const std::string& name) {
  model.check();
  model.require_only_trees("C++");
  std::string out = fmt::format("// {} trees on {} columns.\n#include <cmath>\n\n",
                                model.trees.size(), model.columns);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    out += fmt::format("static void {}_{}(const double* x, double* y) {{\n (void)x;\n", name, t);
    add_node(model.trees[t], 0, model.tree_output[t], " ", out);
    out += "}\n";
  }
  out += fmt::format("\nextern \"C\" void {}(const double* x, double* y) {{\n", name);
  for (int k = 0; k < model.outputs; ++k) out += fmt::format(" y[{}] = 0;\n", k);
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    out += fmt::format(" {}_{}(x, y);\n", name, t);
  const double factor =
      model.averages && !model.trees.empty() ? static_cast<double>(model.trees.size()) : 1;
  for (int k = 0; k < model.outputs; ++k)
    out += fmt::format(" y[{0}] = y[{0}] / {1} + {2};\n", k, number(factor), number(model.base[k]));
  if (model.link == Link::kLogistic) out += " y[0] = 1 / (1 + std::exp(-y[0]));\n";
  if (model.link == Link::kExp) out += " y[0] = std::exp(y[0]);\n";
  if (model.link == Link::kSoftmax)
    out += fmt::format(
        " double most = y[0], sum = 0;\n for (int k = 1; k < {0}; ++k) most = y[k] > most ? y[k] : "
        "most;\n"
        " for (int k = 0; k < {0}; ++k) sum += y[k] = std::exp(y[k] - most);\n for (int k = 0; k < "
        "{0}; ++k) y[k] /= sum;\n",
        model.outputs);
  return out + "}\n";
}

}  // namespace tutti::learn::tree
