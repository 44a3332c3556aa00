#include "tutti/learn/tree/io/model_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"

namespace tutti::learn::tree {
namespace {

using ModelJson = nlohmann::ordered_json;

constexpr std::array<const char*, 4> kLinks = {"identity", "logistic", "softmax", "exp"};

[[noreturn]] void refuse_json(const std::string& what) {
  throw ConfigError("DDL-9-23", fmt::format("not a tree model: {}", what));
}

// JSON has no infinity; it is written as null.
ModelJson json_number(double value) {
  return std::isinf(value) ? ModelJson() : ModelJson(value);
}

ModelJson tree_to_json(const Tree& tree, int output) {
  ModelJson json = {{"output", output}, {"outputs", tree.outputs}};
  for (const char* name :
       {"left", "right", "column", "threshold", "missing_left", "gain", "cover", "count"})
    json[name] = ModelJson::array();
  bool has_categories = false;
  for (const Node& node : tree.nodes) {
    json["left"].push_back(node.left);
    json["right"].push_back(node.right);
    json["column"].push_back(node.column);
    json["threshold"].push_back(json_number(node.threshold));
    json["missing_left"].push_back(node.missing_left ? 1 : 0);
    json["gain"].push_back(node.gain);
    json["cover"].push_back(node.cover);
    json["count"].push_back(node.count);
    has_categories |= node.categories >= 0;
  }
  json["values"] = tree.values;
  if (!has_categories) return json;
  json["categories"] = ModelJson::array();
  for (const Node& node : tree.nodes) json["categories"].push_back(node.categories);
  json["category_sets"] = ModelJson::array();
  for (const auto& set : tree.category_sets)
    json["category_sets"].push_back({{"left", set.left}, {"known", set.known}});
  return json;
}

Tree tree_from_json(const ModelJson& json) {
  Tree tree;
  tree.outputs = json.at("outputs").get<int>();
  const std::size_t size = json.at("left").size();
  for (const char* name :
       {"right", "column", "threshold", "missing_left", "gain", "cover", "count"})
    if (json.at(name).size() != size)
      refuse_json(fmt::format("'{}' and 'left' differ in length.", name));
  tree.nodes.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    Node& node = tree.nodes[i];
    node.left = json.at("left")[i].get<std::int32_t>();
    node.right = json.at("right")[i].get<std::int32_t>();
    node.column = json.at("column")[i].get<std::int32_t>();
    const ModelJson& threshold = json.at("threshold")[i];
    node.threshold =
        threshold.is_null() ? std::numeric_limits<double>::infinity() : threshold.get<double>();
    node.missing_left = json.at("missing_left")[i].get<int>() != 0;
    node.gain = json.at("gain")[i].get<double>();
    node.cover = json.at("cover")[i].get<double>();
    node.count = json.at("count")[i].get<std::int64_t>();
  }
  tree.values = json.at("values").get<std::vector<double>>();
  if (!json.contains("categories")) return tree;
  for (std::size_t i = 0; i < size; ++i)
    tree.nodes[i].categories = json.at("categories").at(i).get<std::int32_t>();
  for (const ModelJson& set : json.at("category_sets"))
    tree.category_sets.push_back({set.at("left").get<std::vector<std::int64_t>>(),
                                  set.at("known").get<std::vector<std::int64_t>>()});
  return tree;
}

ModelJson fourier_to_json(const Model& model) {
  ModelJson json = {{"centres", ModelJson::array()},
                    {"rates", ModelJson::array()},
                    {"learners", ModelJson::array()}};
  for (const FourierColumn& column : model.fourier_columns) {
    json["centres"].push_back(column.centre);
    json["rates"].push_back(column.rate);
  }
  for (const FourierLearner& learner : model.fourier_learners)
    json["learners"].push_back({{"output", learner.output},
                                {"seed", learner.seed},
                                {"has_constant", learner.has_constant},
                                {"coefficients", learner.coefficients}});
  return json;
}

void fourier_from_json(const ModelJson& json, Model& model) {
  const auto& centres = json.at("centres");
  const auto& rates = json.at("rates");
  if (centres.size() != rates.size()) refuse_json("'centres' and 'rates' differ in length.");
  for (std::size_t c = 0; c < centres.size(); ++c)
    model.fourier_columns.push_back({centres[c].get<double>(), rates[c].get<double>()});
  for (const ModelJson& one : json.at("learners"))
    model.fourier_learners.push_back(
        {one.at("output").get<int>(), one.at("seed").get<std::uint64_t>(),
         one.at("has_constant").get<bool>(), one.at("coefficients").get<std::vector<double>>()});
}

}  // namespace

std::string to_json(const Model& model) {
  ModelJson json = {{"format", "tutti-trees"},
                    {"version", 1},
                    {"columns", model.columns},
                    {"outputs", model.outputs},
                    {"link", kLinks[static_cast<std::size_t>(model.link)]},
                    {"averages", model.averages},
                    {"base", model.base},
                    {"column_names", model.column_names},
                    {"trees", ModelJson::array()}};
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    json["trees"].push_back(tree_to_json(model.trees[t], model.tree_output[t]));
  if (model.absent_is_missing) json["absent_is_missing"] = true;
  if (!model.fourier_learners.empty()) json["waves"] = fourier_to_json(model);
  return json.dump();
}

Model from_json(std::string_view text) try {
  const ModelJson json = ModelJson::parse(text);
  if (!json.is_object() || json.value("format", "") != "tutti-trees")
    refuse_json("'format' is not 'tutti-trees'.");
  if (json.at("version") != 1) refuse_json("its version is not 1; a newer Tutti may read it.");
  Model model;
  model.columns = json.at("columns").get<int>();
  model.outputs = json.at("outputs").get<int>();
  const auto link = std::find(kLinks.begin(), kLinks.end(), json.at("link").get<std::string>());
  if (link == kLinks.end()) refuse_json("the link is unknown.");
  model.link = static_cast<Link>(link - kLinks.begin());
  model.averages = json.at("averages").get<bool>();
  model.base = json.at("base").get<std::vector<double>>();
  model.column_names = json.at("column_names").get<std::vector<std::string>>();
  for (const ModelJson& tree : json.at("trees")) {
    model.trees.push_back(tree_from_json(tree));
    model.tree_output.push_back(tree.at("output").get<int>());
  }
  model.absent_is_missing = json.value("absent_is_missing", false);
  if (json.contains("waves")) fourier_from_json(json.at("waves"), model);
  model.check();
  return model;
} catch (const nlohmann::json::exception& error) {
  refuse_json(error.what());
}

}  // namespace tutti::learn::tree
