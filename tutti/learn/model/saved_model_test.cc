#include "tutti/learn/model/saved_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tutti/core/error.h"
#include "tutti/learn/model/predict.h"
#include "tutti/learn/model/train.h"

namespace tutti::learn {
namespace {

class SavedModels : public testing::Test {
 protected:
  SavedModels() {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (int row = 0; row < kRows; ++row) {
      const float a = normal(random), b = normal(random);
      values_.insert(values_.end(), {a, b, normal(random)});
      kinds_.push_back(a > 0.5f ? 30 : b > 0 ? 20 : 10);
      numbers_.push_back(std::exp(0.5 * a + 0.2));
    }
    data_.features = {.rows = kRows, .columns = 3, .values = values_.data(), .row_stride = 3};
  }
  ~SavedModels() override { std::filesystem::remove(path_); }

  SavedModel fit(const std::string& name, const std::vector<double>& labels,
                 const std::string& task = "auto") {
    data_.labels = labels;
    TrainSettings settings;
    settings.options.set("model", name);
    settings.options.set("task", task);
    settings.options.set("trees", "20");
    settings.options.set("threads", "2");
    return train(data_, settings);
  }

  static constexpr int kRows = 600;
  std::vector<float> values_;
  std::vector<double> kinds_, numbers_;
  DataSet data_;
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-model-" + std::to_string(::getpid()));
};

double right_share(const Predictions& found, const std::vector<double>& labels) {
  double right = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) right += found.values[row] == labels[row];
  return right / static_cast<double>(labels.size());
}

TEST_F(SavedModels, EveryModelClassifiesAndRoundTrips) {
  for (const char* name :
       {"logistic", "hinge", "squared_hinge", "tree", "forest", "extra_trees", "boosting"}) {
    for (const bool is_binary : {true, false}) {
      std::vector<double> labels = kinds_;
      if (is_binary)
        for (double& label : labels) label = label == 30 ? 5 : -5;
      const SavedModel model = fit(name, labels);
      EXPECT_EQ(model.classes.size(), is_binary ? 2u : 3u) << name;
      const Predictions found = predict(model, data_.features, 2);
      EXPECT_GT(right_share(found, labels), 0.8) << name << is_binary;
      save_model(path_, model);
      const Predictions again = predict(load_model(path_), data_.features, 1);
      EXPECT_EQ(again.values, found.values) << name;
      EXPECT_EQ(again.probabilities, found.probabilities) << name;
    }
  }
}

TEST_F(SavedModels, ProbabilitiesSumToOne) {
  for (const char* name : {"logistic", "forest", "boosting"}) {
    const Predictions found = predict(fit(name, kinds_), data_.features, 1);
    ASSERT_EQ(found.probabilities.size(), 3u * kRows);
    for (int row = 0; row < kRows; ++row)
      ASSERT_NEAR(found.probabilities[3 * row] + found.probabilities[3 * row + 1] +
                      found.probabilities[3 * row + 2],
                  1, 1e-6)
          << name;
  }
}

TEST_F(SavedModels, PredictsNumbers) {
  for (const char* name : {"squared", "poisson", "gamma", "tree", "boosting"}) {
    const SavedModel model = fit(name, numbers_, "numbers");
    EXPECT_TRUE(model.classes.empty());
    save_model(path_, model);
    const Predictions found = predict(load_model(path_), data_.features, 1);
    double error = 0;
    for (int row = 0; row < kRows; ++row)
      error += std::abs(found.values[row] - numbers_[row]) / kRows;
    EXPECT_LT(error, 0.35) << name;
  }
}

TEST_F(SavedModels, InvalidInputIsRejected) {
  EXPECT_THROW(fit("guess", kinds_), ConfigError);
  EXPECT_THROW(fit("logistic", {}), ConfigError);
  EXPECT_THROW(fit("logistic", std::vector<double>(kRows, 1)), ConfigError);
  EXPECT_THROW(fit("tree", kinds_, "what"), ConfigError);
  save_model(path_, fit("logistic", kinds_));
  Matrix other = data_.features;
  other.columns = 2;
  EXPECT_THROW(predict(load_model(path_), other, 1), ConfigError);
  for (
      const char* text :
      {"", "[]", "{}", R"({"format":"tutti-model","version":2})",
       R"({"format":"tutti-model","version":1,"model":"logistic","columns":1,"classes":[],"link":"identity","parts":[]})",
       R"({"format":"tutti-model","version":1,"model":"logistic","columns":1,"classes":[],"link":"identity",
                               "parts":[{"intercept":0,"columns":[7],"weights":[1]}]})"}) {
    std::ofstream(path_) << text;
    EXPECT_THROW(load_model(path_), IoError) << text;
  }
}

}  // namespace
}  // namespace tutti::learn
