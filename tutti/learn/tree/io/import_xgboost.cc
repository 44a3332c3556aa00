#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
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

// XGBoost rounds values to f32 before it compares them. Returns the largest f64 number that is rounded to at most
// `bound`.
double bound_of_f32(float bound) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (std::isinf(bound)) return static_cast<double>(bound);
  const float above = std::nextafter(bound, kInfinity);
  const double gap = std::isinf(above) ? static_cast<double>(bound) -
                                             static_cast<double>(std::nextafter(bound, -kInfinity))
                                       : static_cast<double>(above) - static_cast<double>(bound);
  const double middle = static_cast<double>(bound) + gap / 2;
  const bool is_even = (std::bit_cast<std::uint32_t>(bound) & 1) == 0;  // ties are rounded to even
  return is_even ? middle : std::nextafter(middle, -std::numeric_limits<double>::infinity());
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
        bound_of_f32(std::nextafter(condition, -std::numeric_limits<float>::infinity()));
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

// Number of trees up to the best round of early stopping, which predictions of XGBClassifier and XGBRegressor use;
// unlimited without early stopping.
std::size_t trees_of_best_round(const Json& learner, std::size_t outputs) {
  if (!learner.contains("attributes") || !learner.at("attributes").contains("best_iteration"))
    return std::numeric_limits<std::size_t>::max();
  const auto number = [](const Json& text) { return std::stoul(text.get<std::string>()); };
  const Json& model = learner.at("gradient_booster").at("model");
  const std::size_t round = number(learner.at("attributes").at("best_iteration")) + 1;
  if (model.contains("iteration_indptr") && round < model.at("iteration_indptr").size())
    return model.at("iteration_indptr").at(round).get<std::size_t>();
  return round * outputs * number(model.at("gbtree_model_param").at("num_parallel_tree"));
}

// XGBoost 3 writes a list.
double read_base_score(std::string text) {
  std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
  return std::stod(text);
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
  const double base = read_base_score(parameters.at("base_score").get<std::string>());
  model.base.assign(model.outputs, to_raw(objective, model.link, base));
  if (learner.contains("feature_names"))
    model.column_names = learner.at("feature_names").get<std::vector<std::string>>();
  for (const Json& tree : booster.at("model").at("trees")) model.trees.push_back(read_tree(tree));
  model.tree_output = booster.at("model").at("tree_info").get<std::vector<int>>();
  model.absent_is_missing = true;
  const std::size_t used = trees_of_best_round(learner, static_cast<std::size_t>(model.outputs));
  if (used < model.trees.size()) {
    model.trees.resize(used);
    model.tree_output.resize(used);
  }
  model.check();
  return model;
} catch (const nlohmann::json::exception& error) {
  refuse_xgboost(error.what());
} catch (const std::logic_error& error) {  // from stoi and stod
  refuse_xgboost(fmt::format("a number cannot be read ({}).", error.what()));
}

}  // namespace tutti::learn::tree
