#include "tutti/learn/tree/io/import.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tutti/core/error.h"
#include "tutti/learn/tree/io/export.h"

namespace tutti::learn::tree {
namespace {

constexpr const char* kLightGbm = R"(tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=binary sigmoid:1
feature_names=a b c
feature_infos=[0:1] [0:1] 0:1:2:40
tree_sizes=300 200

Tree=0
num_leaves=3
num_cat=1
split_feature=1 2
split_gain=5 3
threshold=0.5 0
decision_type=10 1
left_child=1 -1
right_child=-2 -3
leaf_value=0.25 -1.5 2
leaf_weight=3 4 5
leaf_count=30 40 50
internal_value=0 0
internal_weight=12 8
internal_count=120 80
cat_boundaries=0 2
cat_threshold=2 256
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
threshold=
leaf_value=0.125
is_linear=0
shrinkage=1


end of trees

feature_importances:
b=1
)";

double raw_of(const Model& model, std::vector<double> row) {
  double sum = model.base[0];
  for (const Tree& tree : model.trees) sum += tree.value(tree.leaf_of(row))[0];
  return sum;
}

TEST(ImportLightGbm, NumbersCategoriesAndMissing) {
  const Model model = import_lightgbm(kLightGbm);
  EXPECT_EQ(model.link, Link::kLogistic);
  EXPECT_EQ(model.column_names, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(model.trees.size(), 2);
  EXPECT_EQ(raw_of(model, {0, 0.6, 1}), -1.5 + 0.125);
  EXPECT_EQ(raw_of(model, {0, 0.5, 1}), 0.25 + 0.125);   // bit 1 of the first word
  EXPECT_EQ(raw_of(model, {0, 0.5, 40}), 0.25 + 0.125);  // bit 8 of the second
  EXPECT_EQ(raw_of(model, {0, 0.5, 2}), 2.125);
  EXPECT_EQ(raw_of(model, {0, NAN, NAN}),
            2.125);  // a missing value goes left, and is not a category
  EXPECT_EQ(model.trees[0].nodes[0].count, 120);
}

TEST(ImportLightGbm, DamagedTextIsRejected) {
  const std::string text = kLightGbm;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return other;
  };
  EXPECT_THROW(import_lightgbm(""), ConfigError);
  EXPECT_THROW(import_lightgbm(with("left_child=1 -1", "left_child=0 -1")), ConfigError);
  EXPECT_THROW(import_lightgbm(with("left_child=1 -1", "left_child=1")), ConfigError);
  EXPECT_THROW(import_lightgbm(with("threshold=0.5 0", "threshold=x 0")), ConfigError);
  EXPECT_THROW(import_lightgbm(with("cat_boundaries=0 2", "cat_boundaries=0 9")), ConfigError);
  EXPECT_THROW(import_lightgbm(with("decision_type=10 1", "decision_type=6 1")), ConfigError);
  EXPECT_THROW(import_lightgbm(with("binary sigmoid:1", "hinge")), ConfigError);
  EXPECT_THROW(import_lightgbm(with("split_feature=1 2", "split_feature=1 9")), ConfigError);
}

TEST(ImportXgboost, DamagedTextIsRejected) {
  EXPECT_THROW(import_xgboost(""), ConfigError);
  EXPECT_THROW(import_xgboost("{}"), ConfigError);
  EXPECT_THROW(import_xgboost(R"({"learner": {"learner_model_param": {}}})"), ConfigError);
  const auto message = [](const std::string& bytes) -> std::string {
    try {
      import_xgboost(bytes);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(std::string("{L\0\0\0\0\0\0\0\7learner", 17)),
            "DDL-9-24 this XGBoost model cannot be read: its UBJSON is damaged. Save the model "
            "again with save_model(\"x.json\").");
  EXPECT_EQ(message("binf\1\2"),
            "DDL-9-24 this XGBoost model cannot be read: the file is not JSON or UBJSON as written "
            "by save_model. Save the model again with save_model(\"x.json\").");
}

TEST(Export, OnlyOnnxRejectsCategories) {
  const Model model = import_lightgbm(kLightGbm);
  EXPECT_THROW(to_onnx(model), ConfigError);
  EXPECT_NE(to_pmml(model).find("SimpleSetPredicate"), std::string::npos);
  EXPECT_NE(to_cpp(model, "ask").find("extern \"C\" void ask("), std::string::npos);
}

}  // namespace
}  // namespace tutti::learn::tree
