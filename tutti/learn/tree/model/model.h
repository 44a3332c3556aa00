// What was learnt: trees and how their answers become one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/tree/model/tree.h"

namespace tutti::learn::tree {

enum class Link : std::uint8_t {
  kIdentity,
  kLogistic,  // one output: 1 / (1 + exp(-x)) is the probability of class 1
  kSoftmax,   // one output for each class
  kExp,
};

// Where the middle of a column is, and how fast the features oscillate along it.
struct FourierColumn {
  double centre = 0, rate = 0;
};

// What a learner that is no tree adds to its output: the sum over k of coefficients[k] *
// cos(direction k . (x - centres) + phase k). Directions are normal random numbers times the rates,
// phases even ones, both functions of the seed; a missing value lies at the centre.
struct FourierLearner {
  int output = 0;
  std::uint64_t seed = 0;
  bool has_constant = false;  // the first one is 1 everywhere
  std::vector<double> coefficients;
};

struct Model {
  int columns = 0;
  int outputs = 1;  // of the model: classes, or 1
  Link link = Link::kIdentity;
  bool averages = false;     // the mean over trees (forests), else their sum
  std::vector<double> base;  // added to the outputs
  std::vector<Tree> trees;
  // Which output a tree with one value adds to; trees with `outputs` values add to all.
  std::vector<int> tree_output;
  std::vector<std::string> column_names = {};  // empty, or one for each column
  // Of heterogeneous boosting: learners beside the trees.
  std::vector<FourierLearner> fourier_learners = {};
  std::vector<FourierColumn> fourier_columns =
      {};  // one for each column when there are Fourier learners

  // Gain of the splits of each column, as shares of the whole; zeros when there are no splits.
  std::vector<double> importances() const;
  // Throws ConfigError (DDL-9-23) when nodes, columns or values do not fit together.
  void check() const;
  // Throws ConfigError (DDL-9-25) when there is more than trees: `format` cannot hold it.
  void require_only_trees(const char* format) const;
};

// Before the link, rows x outputs, row by row. Throws ConfigError (DDL-9-21) on other columns than
// the model's.
std::vector<double> predict_raw(const Model& model, const Matrix& matrix, Threads& threads);

// Turns raw outputs into probabilities or means, in place; kLogistic stays one number for each row.
void apply_link(Link link, int outputs, std::span<double> values);

}  // namespace tutti::learn::tree
