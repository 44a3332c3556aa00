// State of the multinomial solvers: the weights of all classes and, per row, margins and probabilities. Vectors are
// stored class by class, each with one value per column and then the intercept; per-row arrays are stored class by
// class too.
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

  // Sets the weights from the start values of the options, and computes the margins.
  void take_start();
  // Computes the probabilities `probabilities_` at these margins; returns the loss.
  double evaluate(const std::vector<T>& margins);
  // Computes gradient_, the gradient of the loss at the current probabilities, and the diagonal of the Hessian if
  // `diagonal` is not null.
  void compute_gradient(std::vector<T>* diagonal = nullptr);
  // curvature[r] = second derivative of the loss of row r with respect to its margin of class k. Returns the sum.
  double fill_curvature(std::int64_t k, std::vector<T>& curvature) const;
  // products = rows . search, curved = Hessian of the loss * search.
  void multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                        std::vector<T>& curved);
  // margins = rows . vector
  void multiply(const std::vector<T>& vector, std::vector<T>& margins);
  using AddBody = std::function<void(std::int64_t begin, std::int64_t end, double* sums)>;
  // body(begin, end, sums) adds to `size` sums. Returns the sums over all rows.
  std::vector<double> sum_vectors(std::int64_t size, const AddBody& body) const;
  // Runs `steps`, which returns whether it has converged, and builds the model.
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
  // Margins, trial margins, probabilities, factors of transposed products, change along the direction, change along one
  // search direction.
  std::vector<T> margins_, trial_, probabilities_, factors_, moves_, products_;
  std::vector<T> gradient_;
};

}  // namespace tutti::learn
