// What `tutti learn` keeps of a fit: a linear model or trees, with the classes they tell apart.
// docs/formats/model.md says how it lies in a file.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/learn/data/data_set.h"
#include "tutti/learn/tree/model/model.h"

namespace tutti::app {

struct LinearPart {
  std::vector<double> coefficients;  // one per column, or per word of it (spread_words)
  double intercept = 0;
};

struct LearnModel {
  std::string name;  // as in `tutti learn train --model NAME`
  std::int64_t columns = 0;
  std::vector<double>
      classes;  // labels that are told apart, in order; empty: a number is predicted
  // Linear: one part for two classes or numbers, else one per class.
  std::vector<LinearPart> parts;
  bool is_multinomial = false, has_log_link = false;
  std::optional<learn::tree::Model> trees;
  learn::Words words = {};  // what columns of categories and classes are called

  bool has_probabilities() const {
    return !classes.empty() && name != "hinge" && name != "squared_hinge";
  }
};

// A label as it stood in the data.
std::string label_text(const LearnModel& model, double label);

// Throws IoError where it cannot be written whole; what was there stays then.
void save_model(const std::filesystem::path& path, const LearnModel& model);
// Throws IoError that says what is wrong with the file.
LearnModel load_model(const std::filesystem::path& path);
// Whether a file begins like one that save_model wrote, whatever its name.
bool is_model(const std::filesystem::path& path);

struct Predictions {
  std::vector<double> values;         // classes or numbers, one per row
  std::vector<double> probabilities;  // rows x classes, row by row, or empty
};
// Throws ConfigError when the columns are others than the model's.
Predictions predict(const LearnModel& model, const learn::Matrix& features, int threads);

// "accuracy 0.93, log loss 0.21" or "mean squared error 0.4, R2 0.8"
std::string quality_of(const LearnModel& model, const Predictions& predictions,
                       std::span<const double> labels);

}  // namespace tutti::app
