// Where a fit of several classes at once stands: the weights of all classes, and of every row the
// margins and the probabilities. Vectors go class by class, each with a value per column and then
// the intercept's; arrays of rows go class by class, too.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
class SoftmaxState {
 protected:
  SoftmaxState(DesignMatrix<T>& design, std::span<const std::int32_t> classes, int count,
               std::span<const double> weights, const GlmOptions& options, Tracker& tracker);

  // Weights that the options give to start with, and the margins there.
  void take_start();
  // Fills `shares_` with the probabilities at these margins; returns the loss.
  double evaluate(const std::vector<T>& margins);
  // gradient_ = slopes of the loss by all weights, at the probabilities that are there. With
  // `diagonal` (not null) also the Hessian's.
  void compute_gradient(std::vector<T>* diagonal = nullptr);
  // curvature[r] = second derivative of the loss of a row by its margin of class k; returns the
  // sum.
  double fill_curvature(std::int64_t k, std::vector<T>& curvature) const;
  // products = rows . search, curved = Hessian of the loss * search.
  void multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                        std::vector<T>& curved);
  // margins = rows . vector
  void multiply(const std::vector<T>& vector, std::vector<T>& margins);
  // body(begin, end, sums) adds to `size` sums of its own; what they are over all rows.
  using AddBody = std::function<void(std::int64_t begin, std::int64_t end, double* sums)>;
  std::vector<double> sum_vectors(std::int64_t size, const AddBody& body) const;
  // The model that these steps lead to; they return whether they came to the end.
  MultinomialModel found_by(const std::function<bool()>& steps);

  double weight_of(std::int64_t r) const {
    return weights_of_rows_.empty() ? 1 : weights_of_rows_[r];
  }
  bool is_intercept(std::int64_t i) const { return i % width_ == columns_; }

  DesignMatrix<T>& design_;
  std::span<const std::int32_t> classes_;
  std::span<const double> weights_of_rows_;
  const GlmOptions& options_;
  Tracker& tracker_;
  std::int64_t count_, rows_, columns_, width_;
  std::vector<double> weights_;
  double objective_ = 0, gap_ = 0;
  // Margins, those of a trial, probabilities, what goes back to the columns, what the direction
  // adds, what one search direction adds.
  std::vector<T> margins_, trial_, shares_, factors_, moves_, products_;
  std::vector<T> gradient_;
};

}  // namespace tutti::learn
