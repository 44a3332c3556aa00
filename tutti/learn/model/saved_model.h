// Model files: a linear model or trees with the classes that they distinguish, written and read by
// `tutti learn` and by tutti.learn.model in Python. docs/formats/model.md describes the format.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tutti/learn/data/data_set.h"
#include "tutti/learn/tree/model/model.h"

namespace tutti::learn {

struct LinearPart {
  std::vector<double> coefficients;  // one per column, or per word of it (one_hot_encode)
  double intercept = 0;
};

struct SavedModel {
  std::string name;  // as in `tutti learn train --model NAME`
  std::int64_t columns = 0;
  std::vector<double> classes;  // labels in ascending order; empty: regression
  // Linear: one part for two classes or numbers, else one per class.
  std::vector<LinearPart> parts;
  bool is_multinomial = false, has_log_link = false;
  std::optional<tree::Model> trees;
  StringCategories categories = {};  // what columns of categories and classes are called

  bool has_probabilities() const {
    return !classes.empty() && name != "hinge" && name != "squared_hinge";
  }
};

// A label as it is written in the data: its category where labels are strings, else the number.
std::string label_text(const SavedModel& model, double label);

// Throws IoError when the file cannot be written completely; an older file then stays as it was.
void save_model(const std::filesystem::path& path, const SavedModel& model);
// Throws IoError (DDL-9-02, DDL-9-03) that names the file and what is wrong with it.
SavedModel load_model(const std::filesystem::path& path);
// Whether a file begins like one that save_model wrote, whatever its name.
bool is_model(const std::filesystem::path& path);

}  // namespace tutti::learn
