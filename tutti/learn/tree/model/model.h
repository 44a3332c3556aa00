// Tree ensembles: trees and the way their outputs are combined.
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
  kSoftmax,   // one output per class
  kExp,
};

// Centre of a column and frequency scale of the Fourier features along it.
struct FourierColumn {
  double centre = 0, rate = 0;
};

// A base learner other than a tree. It adds the sum over k of coefficients[k] * cos(direction k . (x - centres) + phase
// k) to its output. Directions are normal random numbers times the rates, phases are uniform; both are functions of the
// seed. A missing value is at the centre.
struct FourierLearner {
  int output = 0;
  std::uint64_t seed = 0;
  bool has_constant = false;  // the first feature is constant 1
  std::vector<double> coefficients;
};

struct Model {
  int columns = 0;
  int outputs = 1;  // number of classes, or 1
  Link link = Link::kIdentity;
  bool averages = false;     // outputs are means over trees (forests), otherwise sums
  std::vector<double> base;  // added to the outputs
  std::vector<Tree> trees;
  // Per tree: the output that a tree with one value adds to. Trees with `outputs` values add to all.
  std::vector<int> tree_output;
  std::vector<std::string> column_names = {};  // empty, or one per column
  // Heterogeneous boosting: base learners other than trees.
  std::vector<FourierLearner> fourier_learners = {};
  std::vector<FourierColumn> fourier_columns = {};  // one per column if there are Fourier learners
  // Entries that a sparse matrix does not store are missing instead of 0, as in XGBoost.
  bool absent_is_missing = false;

  // Total gain per column, normalised to sum 1; zeros if there are no splits.
  std::vector<double> importances() const;
  // Throws ConfigError (DDL-9-23) if nodes, columns or values are inconsistent.
  void check() const;
  // Throws ConfigError (DDL-9-25) if the model has other learners than trees, which `format` does not support.
  void require_only_trees(const char* format) const;
};

// Returns raw outputs before the link, rows x outputs, row-major. Throws ConfigError (DDL-9-21) if the number of
// columns differs from the model.
std::vector<double> predict_raw(const Model& model, const Matrix& matrix, Threads& threads);

// Converts raw outputs to probabilities or means, in place; kLogistic keeps one number per row.
void apply_link(Link link, int outputs, std::span<double> values);

}  // namespace tutti::learn::tree
