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
  std::vector<double> coefficients;  // one per column after one_hot_encode
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
  StringCategories categories = {};  // of categorical columns and string labels

  bool has_probabilities() const {
    return !classes.empty() && name != "hinge" && name != "squared_hinge";
  }
};

// A label as written in the data: its category if labels are strings, otherwise the number.
std::string label_text(const SavedModel& model, double label);

// Replaces the file atomically. Throws IoError if it cannot be written; an existing file is then unchanged.
void save_model(const std::filesystem::path& path, const SavedModel& model);
// Throws IoError (DDL-9-02, DDL-9-03), which names the file and the error.
SavedModel load_model(const std::filesystem::path& path);
// Returns whether the content of a file begins like a model file.
bool is_model(const std::filesystem::path& path);

}  // namespace tutti::learn
