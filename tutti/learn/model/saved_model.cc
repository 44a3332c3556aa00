#include "tutti/learn/model/saved_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/learn/tree/io/model_json.h"
#include "tutti/os/output_file.h"

namespace tutti::learn {
namespace {

using Json = nlohmann::ordered_json;

// Zero weights are not stored.
Json json_of(const LinearPart& part) {
  Json columns = Json::array(), values = Json::array();
  for (std::size_t j = 0; j < part.coefficients.size(); ++j) {
    if (part.coefficients[j] == 0) continue;
    columns.push_back(j);
    values.push_back(part.coefficients[j]);
  }
  return {{"intercept", part.intercept}, {"columns", columns}, {"weights", values}};
}

LinearPart part_of(const Json& json, std::int64_t columns) {
  LinearPart part{.coefficients = std::vector<double>(static_cast<std::size_t>(columns)),
                  .intercept = json.at("intercept")};
  const Json &indices = json.at("columns"), &weights = json.at("weights");
  if (indices.size() != weights.size())
    throw std::out_of_range("columns and weights differ in number");
  for (std::size_t i = 0; i < indices.size(); ++i)
    part.coefficients.at(indices[i].get<std::size_t>()) = weights[i].get<double>();
  return part;
}

}  // namespace

std::string label_text(const SavedModel& model, double label) {
  const auto code = static_cast<std::size_t>(std::max(0.0, label));
  return code < model.categories.labels.size() ? model.categories.labels[code]
                                               : fmt::format("{}", label);
}

void save_model(const std::filesystem::path& path, const SavedModel& model) {
  Json json = {{"format", "tutti-model"},
               {"version", 1},
               {"model", model.name},
               {"columns", model.columns},
               {"classes", model.classes}};
  if (!model.categories.empty())
    json["words"] = {{"columns", model.categories.columns}, {"labels", model.categories.labels}};
  if (model.trees) {
    json["trees"] = Json::parse(tree::to_json(*model.trees));
  } else {
    json["link"] = model.has_log_link ? "exp" : model.is_multinomial ? "softmax" : "identity";
    json["parts"] = Json::array();
    for (const LinearPart& part : model.parts) json["parts"].push_back(json_of(part));
  }
  os::write_whole(path, json.dump() + '\n');
}

bool is_model(const std::filesystem::path& path) {
  constexpr std::string_view kBegin = R"({"format":"tutti-model")";
  std::string begin(kBegin.size(), ' ');
  std::ifstream(path).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kBegin;
}

SavedModel load_model(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw IoError("DDL-9-02", fmt::format("{}: cannot open the file.", path.string()));
  const auto fail = [&](const std::string& what) {
    throw IoError("DDL-9-03",
                  fmt::format("{}: not a model of tutti learn: {}.", path.string(), what));
  };
  SavedModel model;
  try {
    const Json json = Json::parse(file);
    if (json.at("format") != "tutti-model" || json.at("version") != 1)
      fail("other format or version");
    model.name = json.at("model");
    model.columns = json.at("columns");
    model.classes = json.at("classes").get<std::vector<double>>();
    if (model.columns < 0 || model.columns > 1LL << 31) fail("the number of columns is invalid");
    if (json.contains("words")) {
      json["words"].at("columns").get_to(model.categories.columns);
      json["words"].at("labels").get_to(model.categories.labels);
    }
    if (json.contains("trees")) {
      model.trees = tree::from_json(json["trees"].dump());
    } else {
      model.has_log_link = json.at("link") == "exp";
      model.is_multinomial = json.at("link") == "softmax";
      const std::int64_t columns = one_hot_columns(model.columns, model.categories);
      for (const Json& part : json.at("parts")) model.parts.push_back(part_of(part, columns));
    }
  } catch (const nlohmann::json::exception& error) {
    fail(error.what());
  } catch (const std::out_of_range& error) {
    fail(error.what());
  }
  const std::size_t wanted = model.classes.size() > 2 ? model.classes.size() : 1;
  if (!model.trees && model.parts.size() != wanted) fail("its parts do not match its classes");
  return model;
}

}  // namespace tutti::learn
