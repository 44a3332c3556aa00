// What was learnt: trees and how their answers become one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti/learn/data/matrix.h"
#include "tutti/learn/tree/tree.h"

namespace tutti::learn::tree {

enum class Link : std::uint8_t {
  kIdentity,
  kLogistic,  // one output: 1 / (1 + exp(-x)) is the probability of class 1
  kSoftmax,   // one output for each class
  kExp,
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

  // Gain of the splits of each column, as shares of the whole; zeros when there are no splits.
  std::vector<double> importances() const;
  // Throws ConfigError (DDL-9-23) when nodes, columns or values do not fit together.
  void check() const;
};

// Before the link, rows x outputs, row by row. Throws ConfigError (DDL-9-21) on other columns than
// the model's.
std::vector<double> predict_raw(const Model& model, const Matrix& matrix, Threads& threads);

// Turns raw outputs into probabilities or means, in place; kLogistic stays one number for each row.
void apply_link(Link link, int outputs, std::span<double> values);

}  // namespace tutti::learn::tree
