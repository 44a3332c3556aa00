#include <fmt/format.h>

#include <map>
#include <sstream>

#include "tutti/core/error.h"
#include "tutti/learn/tree/io/import.h"
#include "tutti/learn/tree/io/renumber.h"

namespace tutti::learn::tree {
namespace {

[[noreturn]] void refuse_lightgbm(const std::string& what) {
  throw ConfigError("DDL-9-24", fmt::format("this LightGBM model cannot be read: {}", what));
}

// Lines `name=value` up to an empty line.
using Block = std::map<std::string, std::string, std::less<>>;

const std::string& need(const Block& block, std::string_view name) {
  const auto at = block.find(name);
  if (at == block.end()) refuse_lightgbm(fmt::format("'{}' is missing.", name));
  return at->second;
}

template <class T>
std::vector<T> numbers(const Block& block, std::string_view name, std::size_t size) {
  std::istringstream text(need(block, name));
  std::vector<T> found;
  for (std::string word; text >> word;) {
    std::size_t used = 0;
    found.push_back(static_cast<T>(std::stod(word, &used)));
    if (used != word.size()) refuse_lightgbm(fmt::format("'{}' contains '{}'.", name, word));
  }
  if (size > 0 && found.size() != size)
    refuse_lightgbm(fmt::format("'{}' has {} numbers, not {}.", name, found.size(), size));
  return found;
}

// Bits of decision_type.
constexpr int kCategorical = 1, kDefaultLeft = 2, kMissingShift = 2, kMissingNone = 0,
              kMissingZero = 1;

void read_categories(const Block& block, std::size_t set, Tree::CategorySet& target) {
  const auto bounds = numbers<std::size_t>(block, "cat_boundaries", 0);
  const auto words = numbers<std::uint32_t>(block, "cat_threshold", 0);
  if (set + 1 >= bounds.size() || bounds[set + 1] > words.size())
    refuse_lightgbm("a set of categories is missing.");
  for (std::size_t word = bounds[set]; word < bounds[set + 1]; ++word)
    for (int bit = 0; bit < 32; ++bit)
      if ((words[word] >> bit & 1) != 0)
        target.left.push_back(static_cast<std::int64_t>((word - bounds[set]) * 32) + bit);
  target.known = target.left;
}

Tree read_tree(const Block& block) {
  const auto leaves = static_cast<std::size_t>(std::stoi(need(block, "num_leaves")));
  if (leaves == 0 || leaves > 1u << 24) refuse_lightgbm("a tree has no leaves, or too many.");
  if (block.contains("is_linear") && need(block, "is_linear") != "0")
    refuse_lightgbm("linear trees are not supported.");
  const std::size_t inner = leaves - 1;
  std::vector<Node> nodes(inner + leaves);
  std::vector<double> values(nodes.size());
  const auto leaf_values = numbers<double>(block, "leaf_value", leaves);
  std::copy(leaf_values.begin(), leaf_values.end(),
            values.begin() + static_cast<std::ptrdiff_t>(inner));
  Tree tree;
  if (inner > 0) {
    const auto columns = numbers<int>(block, "split_feature", inner);
    const auto thresholds = numbers<double>(block, "threshold", inner);
    const auto kinds = numbers<int>(block, "decision_type", inner);
    const auto lefts = numbers<int>(block, "left_child", inner),
               rights = numbers<int>(block, "right_child", inner);
    const auto gains = numbers<double>(block, "split_gain", inner);
    const auto counts = numbers<std::int64_t>(block, "internal_count", inner);
    const auto leaf_counts = numbers<std::int64_t>(block, "leaf_count", leaves);
    // A negative child is the complement of a leaf index.
    const auto node_index = [&](int child) {
      return child >= 0 ? child : static_cast<int>(inner) + ~child;
    };
    for (std::size_t i = 0; i < inner; ++i) {
      Node& node = nodes[i];
      node = {node_index(lefts[i]),
              node_index(rights[i]),
              columns[i],
              -1,
              thresholds[i],
              (kinds[i] & kDefaultLeft) != 0,
              gains[i],
              static_cast<double>(counts[i]),
              counts[i]};
      const int missing = kinds[i] >> kMissingShift & 3;
      if (missing == kMissingZero) refuse_lightgbm("zero_as_missing is not supported.");
      if (missing == kMissingNone) node.missing_left = 0 <= node.threshold;  // NaN is treated as 0
      if ((kinds[i] & kCategorical) == 0) continue;
      node.missing_left = false;
      node.categories = static_cast<std::int32_t>(tree.category_sets.size());
      read_categories(block, static_cast<std::size_t>(thresholds[i]),
                      tree.category_sets.emplace_back());
    }
    for (std::size_t i = 0; i < leaves; ++i)
      nodes[inner + i].count = leaf_counts[i],
                    nodes[inner + i].cover = static_cast<double>(leaf_counts[i]);
  }
  if (!renumber(nodes, values, tree)) refuse_lightgbm("the nodes of a tree do not form a tree.");
  return tree;
}

Link lightgbm_link(const std::string& objective) {
  const std::string name = objective.substr(0, objective.find(' '));
  if (name == "binary" || name == "cross_entropy") return Link::kLogistic;
  if (name == "multiclass") return Link::kSoftmax;
  if (name == "poisson" || name == "gamma" || name == "tweedie") return Link::kExp;
  if (name.starts_with("regression") || name == "huber" || name == "fair" || name == "quantile" ||
      name == "mape" || name == "lambdarank" || name.empty())
    return Link::kIdentity;
  refuse_lightgbm(fmt::format("objective '{}' is not supported.", objective));
}

Block next_block(std::istream& text, std::string& title) {
  Block block;
  title.clear();
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() && (!block.empty() || !title.empty())) break;
    if (line.empty()) continue;
    const auto equals = line.find('=');
    if (equals == std::string::npos || title.empty()) title = title.empty() ? line : title;
    block[line.substr(0, equals)] = equals == std::string::npos ? "" : line.substr(equals + 1);
  }
  return block;
}

}  // namespace

Model import_lightgbm(std::string_view text) try {
  std::istringstream stream{std::string(text)};
  std::string title;
  const Block header = next_block(stream, title);
  if (title != "tree") refuse_lightgbm("the file does not begin with 'tree'.");
  Model model;
  model.columns = std::stoi(need(header, "max_feature_idx")) + 1;
  model.outputs = std::stoi(need(header, "num_tree_per_iteration"));
  const auto objective = header.find("objective");
  model.link = lightgbm_link(objective == header.end() ? "" : objective->second);
  model.averages = header.contains("average_output");
  if (model.outputs < 1) refuse_lightgbm("it has no outputs.");
  model.base.assign(model.outputs, 0.0);
  std::istringstream names(need(header, "feature_names"));
  for (std::string name; names >> name;) model.column_names.push_back(name);
  for (Block block = next_block(stream, title); title.starts_with("Tree=");
       block = next_block(stream, title)) {
    model.tree_output.push_back(static_cast<int>(model.trees.size()) % model.outputs);
    model.trees.push_back(read_tree(block));
  }
  model.check();
  return model;
} catch (const std::logic_error& error) {  // from stoi and stod
  refuse_lightgbm(fmt::format("a number cannot be read ({}).", error.what()));
}

}  // namespace tutti::learn::tree
