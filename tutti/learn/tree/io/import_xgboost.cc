#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/learn/tree/io/import.h"
#include "tutti/learn/tree/io/renumber.h"

namespace tutti::learn::tree {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_xgboost(const std::string& what) {
  throw ConfigError("DDL-9-24", fmt::format("this XGBoost model cannot be read: {}", what));
}

Tree read_tree(const Json& json) {
  const std::size_t size = json.at("left_children").size();
  std::vector<Node> nodes(size);
  std::vector<double> values(size);
  if (json.contains("categories") && !json.at("categories").empty())
    refuse_xgboost("categorical columns are not supported.");
  for (std::size_t i = 0; i < size; ++i) {
    Node& node = nodes[i];
    node.left = json.at("left_children").at(i).get<std::int32_t>();
    node.right = json.at("right_children").at(i).get<std::int32_t>();
    node.cover = json.at("sum_hessian").at(i).get<double>();
    const auto condition = json.at("split_conditions").at(i).get<float>();
    if (node.left < 0) {
      values[i] = static_cast<double>(condition);
      continue;
    }
    node.column = json.at("split_indices").at(i).get<std::int32_t>();
    node.gain = json.at("loss_changes").at(i).get<double>();
    const Json& default_left = json.at("default_left").at(i);
    node.missing_left =
        default_left.is_boolean() ? default_left.get<bool>() : default_left.get<int>() != 0;
    node.threshold =
        static_cast<double>(std::nextafter(condition, -std::numeric_limits<float>::infinity()));
  }
  Tree tree;
  if (size == 0 || !renumber(nodes, values, tree))
    refuse_xgboost("the nodes of a tree do not form a tree.");
  return tree;
}

double to_raw(const std::string& objective, Link link, double base) {
  if (objective == "binary:logistic" || objective == "reg:logistic")
    return std::log(base / (1 - base));
  return link == Link::kExp ? std::log(base) : base;
}

Link xgboost_link(const std::string& objective) {
  if (objective == "binary:logistic" || objective == "reg:logistic" ||
      objective == "binary:logitraw")
    return objective == "binary:logitraw" ? Link::kIdentity : Link::kLogistic;
  if (objective.starts_with("multi:")) return Link::kSoftmax;
  if (objective == "count:poisson" || objective == "reg:gamma" || objective == "reg:tweedie")
    return Link::kExp;
  if (objective.starts_with("reg:") || objective.starts_with("rank:")) return Link::kIdentity;
  refuse_xgboost(fmt::format("objective '{}' is not supported.", objective));
}

// save_model writes JSON, or for x.ubj the same as UBJSON, whose keys have lengths instead of quotes.
Json parse_xgboost(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) refuse_xgboost("the file is empty.");
  if (bytes[begin] != '{')
    refuse_xgboost(
        "the file is not JSON or UBJSON as written by save_model. Save the model again with "
        "save_model(\"x.json\").");
  const bool is_binary = begin + 1 < bytes.size() &&
                         std::string_view("iUIlL").find(bytes[begin + 1]) != std::string_view::npos;
  if (!is_binary) return Json::parse(bytes);
  try {
    return Json::from_ubjson(bytes.begin(), bytes.end());
  } catch (const Json::exception&) {
    refuse_xgboost("its UBJSON is damaged. Save the model again with save_model(\"x.json\").");
  }
}

}  // namespace

Model import_xgboost(std::string_view text) try {
  const Json json = parse_xgboost(text);
  const Json& learner = json.at("learner");
  const Json& parameters = learner.at("learner_model_param");
  const auto objective = learner.at("objective").at("name").get<std::string>();
  const Json& booster = learner.at("gradient_booster");
  if (booster.at("name") != "gbtree") refuse_xgboost("only booster gbtree is supported.");
  Model model;
  model.columns = std::stoi(parameters.at("num_feature").get<std::string>());
  model.outputs = std::max(1, std::stoi(parameters.at("num_class").get<std::string>()));
  model.link = xgboost_link(objective);
  const double base = std::stod(parameters.at("base_score").get<std::string>());
  model.base.assign(model.outputs, to_raw(objective, model.link, base));
  if (learner.contains("feature_names"))
    model.column_names = learner.at("feature_names").get<std::vector<std::string>>();
  for (const Json& tree : booster.at("model").at("trees")) model.trees.push_back(read_tree(tree));
  model.tree_output = booster.at("model").at("tree_info").get<std::vector<int>>();
  model.check();
  return model;
} catch (const nlohmann::json::exception& error) {
  refuse_xgboost(error.what());
} catch (const std::logic_error& error) {  // from stoi and stod
  refuse_xgboost(fmt::format("a number cannot be read ({}).", error.what()));
}

}  // namespace tutti::learn::tree
