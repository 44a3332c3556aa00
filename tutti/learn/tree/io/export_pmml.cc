#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tutti/learn/tree/io/export.h"

namespace tutti::learn::tree {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Model& model) : model_(model) {}

  std::string write() {
    out_ =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PMML xmlns=\"http://www.dmg.org/PMML-4_4\" "
        "version=\"4.4\">\n<Header><Application name=\"Tutti\"/></Header>\n";
    dictionary();
    // A chain: one sum or mean of trees per output, then the link.
    out_ += "<MiningModel functionName=\"regression\">\n" + schema();
    outputs();
    out_ += "<Segmentation multipleModelMethod=\"modelChain\">\n";
    for (int k = 0; k < model_.outputs; ++k) output_segment(k);
    last_segment();
    out_ += "</Segmentation>\n</MiningModel>\n</PMML>\n";
    return out_;
  }

 private:
  std::string field(int column) const {
    return model_.column_names.empty() ? fmt::format("x{}", column)
                                       : escaped(model_.column_names[column]);
  }

  void dictionary() {
    out_ += fmt::format("<DataDictionary numberOfFields=\"{}\">\n", model_.columns);
    for (int c = 0; c < model_.columns; ++c)
      out_ += fmt::format("<DataField name=\"{}\" optype=\"continuous\" dataType=\"double\"/>\n",
                          field(c));
    out_ += "</DataDictionary>\n";
  }

  std::string schema() const {
    std::string text = "<MiningSchema>";
    for (int c = 0; c < model_.columns; ++c)
      text += fmt::format("<MiningField name=\"{}\"/>", field(c));
    return text + "</MiningSchema>\n";
  }

  // exp(raw - max) / sum needs all outputs, which PMML expressions can refer to.
  std::string linked(int k) const {
    const auto raw = [](int index) { return fmt::format("<FieldRef field=\"raw{}\"/>", index); };
    const auto exp = [](const std::string& of) {
      return "<Apply function=\"exp\">" + of + "</Apply>";
    };
    const std::string one = "<Constant dataType=\"double\">1</Constant>",
                      zero = "<Constant dataType=\"double\">0</Constant>";
    switch (model_.link) {
      case Link::kIdentity: return raw(k);
      case Link::kExp: return exp(raw(k));
      case Link::kLogistic:
        return "<Apply function=\"/\">" + one + "<Apply function=\"+\">" + one +
               exp("<Apply function=\"-\">" + zero + raw(k) + "</Apply>") + "</Apply></Apply>";
      case Link::kSoftmax: break;
    }
    std::string sum = "<Apply function=\"sum\">";
    for (int i = 0; i < model_.outputs; ++i)
      sum += exp("<Apply function=\"-\">" + raw(i) + raw(k) + "</Apply>");
    return "<Apply function=\"/\">" + one + sum + "</Apply></Apply>";
  }

  void outputs() {
    out_ += "<Output>\n";
    for (int k = 0; k < model_.outputs; ++k)
      out_ += fmt::format(
          "<OutputField name=\"y{}\" optype=\"continuous\" dataType=\"double\" "
          "feature=\"transformedValue\">{}</OutputField>\n",
          k, linked(k));
    out_ += "</Output>\n";
  }

  void output_segment(int k) {
    out_ += fmt::format(
        "<Segment id=\"raw{0}\"><True/>\n<MiningModel "
        "functionName=\"regression\">\n{1}<Output><OutputField name=\"raw{0}\" "
        "optype=\"continuous\" dataType=\"double\" "
        "feature=\"predictedValue\"/></Output>\n<Targets><Target "
        "rescaleConstant=\"{2}\"/></Targets>\n<Segmentation multipleModelMethod=\"{3}\">\n",
        k, schema(), model_.base[k], model_.averages ? "average" : "sum");
    for (std::size_t t = 0; t < model_.trees.size(); ++t) {
      const Tree& tree = model_.trees[t];
      if (tree.outputs == 1 && model_.tree_output[t] != k) continue;
      out_ += fmt::format(
          "<Segment id=\"{}\"><True/>\n<TreeModel functionName=\"regression\" "
          "missingValueStrategy=\"defaultChild\" splitCharacteristic=\"binarySplit\">\n{}",
          t, schema());
      node(tree, 0, tree.outputs == 1 ? 0 : k, "<True/>");
      out_ += "</TreeModel>\n</Segment>\n";
    }
    out_ += "</Segmentation>\n</MiningModel>\n</Segment>\n";
  }

  // The last segment of a chain is the prediction: the first raw output, unchanged.
  void last_segment() {
    out_ +=
        "<Segment id=\"answer\"><True/>\n<RegressionModel "
        "functionName=\"regression\"><MiningSchema><MiningField "
        "name=\"raw0\"/></MiningSchema><RegressionTable intercept=\"0\"><NumericPredictor "
        "name=\"raw0\" coefficient=\"1\"/></RegressionTable></RegressionModel>\n</Segment>\n";
  }

  std::string predicate(const Tree& tree, const Node& above, bool is_left) const {
    if (above.categories < 0) {
      const double limit =
          std::isinf(above.threshold) ? std::numeric_limits<double>::max() : above.threshold;
      return fmt::format("<SimplePredicate field=\"{}\" operator=\"{}\" value=\"{}\"/>",
                         field(above.column), is_left ? "lessOrEqual" : "greaterThan", limit);
    }
    const auto& set = tree.category_sets[above.categories];
    // The side that lists its codes is the one that unknown categories do not go to.
    std::vector<std::int64_t> listed = set.left;
    if (above.missing_left) {
      listed.clear();
      std::set_difference(set.known.begin(), set.known.end(), set.left.begin(), set.left.end(),
                          std::back_inserter(listed));
    }
    return fmt::format(
        "<SimpleSetPredicate field=\"{}\" booleanOperator=\"{}\"><Array type=\"int\" "
        "n=\"{}\">{}</Array></SimpleSetPredicate>",
        field(above.column), is_left != above.missing_left ? "isIn" : "isNotIn", listed.size(),
        fmt::join(listed, " "));
  }

  void node(const Tree& tree, std::int32_t at, int output, const std::string& test) {
    const Node& one = tree.nodes[at];
    out_ += fmt::format("<Node id=\"{}\" score=\"{}\" recordCount=\"{}\"", at,
                        tree.value(at)[output], one.count);
    if (!one.is_leaf())
      out_ += fmt::format(" defaultChild=\"{}\"", one.missing_left ? one.left : one.right);
    out_ += ">" + test;
    if (!one.is_leaf()) {
      node(tree, one.left, output, predicate(tree, one, true));
      node(tree, one.right, output, predicate(tree, one, false));
    }
    out_ += "</Node>\n";
  }

  const Model& model_;
  std::string out_;
};

}  // namespace

std::string to_pmml(const Model& model) {
  model.check();
  model.require_only_trees("PMML");
  return Writer(model).write();
}

}  // namespace tutti::learn::tree
