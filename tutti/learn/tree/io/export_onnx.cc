#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/tree/io/export.h"

namespace tutti::learn::tree {
namespace {

// Minimal protocol buffer writer: a message is a sequence of fields, each a tag (field << 3 | wire type) and its
// content.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, const std::string& value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  Message& numbers(int field, const std::vector<std::int64_t>& values) {
    Message packed;
    for (const std::int64_t value : values) packed.varint(static_cast<std::uint64_t>(value));
    return message(field, packed);
  }
  Message& floats(int field, const std::vector<float>& values) {
    Message packed;
    for (const float value : values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (int byte = 0; byte < 4; ++byte) packed.bytes_ += static_cast<char>(bits >> (8 * byte));
    }
    return message(field, packed);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Field numbers of onnx.proto.
enum Attribute {
  kName = 1,
  kInt = 3,
  kString = 4,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kType = 20
};
enum AttributeType {
  kTypeInt = 2,
  kTypeString = 3,
  kTypeFloats = 6,
  kTypeInts = 7,
  kTypeStrings = 8
};

Message attribute(const std::string& name, AttributeType type) {
  return Message().text(kName, name).number(kType, type);
}

float rounded_down(double value) {
  const auto near = static_cast<float>(value);
  return static_cast<double>(near) > value
             ? std::nextafter(near, -std::numeric_limits<float>::infinity())
             : near;
}

// Attributes of the TreeEnsembleRegressor operator.
struct Ensemble {
  std::vector<std::int64_t> tree_ids, node_ids, columns, true_ids, false_ids, missing_true;
  std::vector<float> thresholds;
  std::vector<std::string> modes;
  std::vector<std::int64_t> target_trees, target_nodes, target_ids;
  std::vector<float> weights;

  void add(const Tree& tree, std::int64_t id, int output) {
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const Node& node = tree.nodes[i];
      if (node.categories >= 0)
        throw ConfigError(
            "DDL-9-25",
            "ONNX does not support trees with categorical columns. Export PMML, C++ or JSON.");
      tree_ids.push_back(id);
      node_ids.push_back(static_cast<std::int64_t>(i));
      columns.push_back(node.is_leaf() ? 0 : node.column);
      thresholds.push_back(node.is_leaf() ? 0 : rounded_down(node.threshold));
      modes.emplace_back(node.is_leaf() ? "LEAF" : "BRANCH_LEQ");
      true_ids.push_back(node.is_leaf() ? 0 : node.left);
      false_ids.push_back(node.is_leaf() ? 0 : node.right);
      missing_true.push_back(node.missing_left ? 1 : 0);
      if (!node.is_leaf()) continue;
      const auto values = tree.value(static_cast<std::int32_t>(i));
      for (std::size_t k = 0; k < values.size(); ++k) {
        target_trees.push_back(id);
        target_nodes.push_back(static_cast<std::int64_t>(i));
        target_ids.push_back(tree.outputs > 1 ? static_cast<std::int64_t>(k) : output);
        weights.push_back(static_cast<float>(values[k]));
      }
    }
  }
};

Message ensemble_node(const Model& model, const std::string& result) {
  Ensemble table;
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    table.add(model.trees[t], static_cast<std::int64_t>(t), model.tree_output[t]);
  Message node;
  node.text(1, "x")
      .text(2, result)
      .text(3, "trees")
      .text(4, "TreeEnsembleRegressor")
      .text(7, "ai.onnx.ml");
  const auto put = [&](const Message& one) { node.message(5, one); };
  const auto ints = [&](const char* name, const std::vector<std::int64_t>& values) {
    put(attribute(name, kTypeInts).numbers(kInts, values));
  };
  ints("nodes_treeids", table.tree_ids);
  ints("nodes_nodeids", table.node_ids);
  ints("nodes_featureids", table.columns);
  put(attribute("nodes_values", kTypeFloats).floats(kFloats, table.thresholds));
  Message modes = attribute("nodes_modes", kTypeStrings);
  for (const std::string& mode : table.modes) modes.text(kStrings, mode);
  put(modes);
  ints("nodes_truenodeids", table.true_ids);
  ints("nodes_falsenodeids", table.false_ids);
  ints("nodes_missing_value_tracks_true", table.missing_true);
  ints("target_treeids", table.target_trees);
  ints("target_nodeids", table.target_nodes);
  ints("target_ids", table.target_ids);
  put(attribute("target_weights", kTypeFloats).floats(kFloats, table.weights));
  put(attribute("n_targets", kTypeInt).number(kInt, model.outputs));
  put(attribute("base_values", kTypeFloats)
          .floats(kFloats, {model.base.begin(), model.base.end()}));
  put(attribute("aggregate_function", kTypeString)
          .text(kString, model.averages ? "AVERAGE" : "SUM"));
  const char* transform = model.link == Link::kLogistic  ? "LOGISTIC"
                          : model.link == Link::kSoftmax ? "SOFTMAX"
                                                         : "NONE";
  put(attribute("post_transform", kTypeString).text(kString, transform));
  return node;
}

// A float tensor of any number of rows and `columns` columns.
Message float_rows(const std::string& name, int columns) {
  Message shape;
  shape.message(1, Message().text(2, "rows")).message(1, Message().number(1, columns));
  const Message tensor = Message().number(1, 1).message(2, shape);
  return Message().text(1, name).message(2, Message().message(1, tensor));
}

}  // namespace

std::string to_onnx(const Model& model) {
  model.check();
  model.require_only_trees("ONNX");
  const bool has_exp = model.link == Link::kExp;
  Message graph;
  graph.message(1, ensemble_node(model, has_exp ? "raw" : "y"));
  if (has_exp) graph.message(1, Message().text(1, "raw").text(2, "y").text(4, "Exp"));
  graph.text(2, "tutti")
      .message(11, float_rows("x", model.columns))
      .message(12, float_rows("y", model.outputs));
  const auto opset = [](const char* domain, int version) {
    return Message().text(1, domain).number(2, version);
  };
  return Message()
      .number(1, 8)
      .text(2, "tutti")
      .message(7, graph)
      .message(8, opset("", 13))
      .message(8, opset("ai.onnx.ml", 3))
      .bytes();
}

}  // namespace tutti::learn::tree
