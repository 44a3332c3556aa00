#include "tutti/learn/glm/solvers/softmax_state.h"

#include <cmath>

#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {

template <class T>
SoftmaxState<T>::SoftmaxState(DesignMatrix<T>& design, std::span<const std::int32_t> classes,
                              int count, std::span<const double> weights, const GlmOptions& options,
                              Tracker& tracker)
    : design_(design),
      classes_(classes),
      weights_of_rows_(weights),
      options_(options),
      tracker_(tracker),
      count_(count),
      rows_(design.rows()),
      columns_(design.columns()),
      width_(columns_ + 1),
      weights_(count * width_) {
  for (auto* rows : {&margins_, &trial_, &probabilities_, &factors_, &moves_, &products_})
    rows->resize(count_ * rows_);
  gradient_.resize(count_ * width_);
}

template <class T>
void SoftmaxState<T>::take_start() {
  const std::vector<double>& given = options_.start_coefficients;
  const std::vector<double>& intercepts = options_.start_intercepts;
  if (given.empty()) return;
  for (std::int64_t k = 0; k < count_; ++k) {
    for (std::int64_t j = 0; j < columns_; ++j)
      weights_[k * width_ + j] = given[k * design_.all_columns() + design_.original(j)];
    if (options_.fit_intercept && !intercepts.empty())
      weights_[k * width_ + columns_] = intercepts[k];
  }
  multiply(std::vector<T>(weights_.begin(), weights_.end()), margins_);
}

template <class T>
double SoftmaxState<T>::evaluate(const std::vector<T>& margins) {
  return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double loss = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      T largest = margins[r];
      for (std::int64_t k = 1; k < count_; ++k) largest = std::max(largest, margins[k * rows_ + r]);
      double sum = 0;
      for (std::int64_t k = 0; k < count_; ++k) {
        const double e = std::exp(static_cast<double>(margins[k * rows_ + r] - largest));
        probabilities_[k * rows_ + r] = static_cast<T>(e);
        sum += e;
      }
      for (std::int64_t k = 0; k < count_; ++k)
        probabilities_[k * rows_ + r] = static_cast<T>(probabilities_[k * rows_ + r] / sum);
      const double own = static_cast<double>(margins[classes_[r] * rows_ + r] - largest);
      loss += weight_of(r) * (std::log(sum) - own);
    }
    return loss;
  });
}

template <class T>
double SoftmaxState<T>::fill_curvature(std::int64_t k, std::vector<T>& curvature) const {
  const T* probabilities = probabilities_.data() + k * rows_;
  return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double total = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      const double probability = static_cast<double>(probabilities[r]);
      curvature[r] = static_cast<T>(weight_of(r) * std::max(1e-8, probability * (1 - probability)));
      total += static_cast<double>(curvature[r]);
    }
    return total;
  });
}

template <class T>
void SoftmaxState<T>::compute_gradient(std::vector<T>* diagonal) {
  std::vector<T> curvature(diagonal != nullptr ? rows_ : 0);
  for (std::int64_t k = 0; k < count_; ++k) {
    T* factors = factors_.data() + k * rows_;
    const double sum = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r) {
        const double factor = weight_of(r) * (static_cast<double>(probabilities_[k * rows_ + r]) -
                                              (classes_[r] == k));
        factors[r] = static_cast<T>(factor);
        total += factor;
      }
      return total;
    });
    T* gradient = gradient_.data() + k * width_;
    if (diagonal != nullptr) {
      T* own = diagonal->data() + k * width_;
      const double curved = fill_curvature(k, curvature);
      design_.gradient_and_diagonal(factors, curvature.data(), gradient, own);
      own[columns_] = static_cast<T>(curved);
    } else {
      design_.transpose_multiply(factors, gradient);
    }
    gradient[columns_] = options_.fit_intercept ? static_cast<T>(sum) : T{0};
  }
  tracker_.add_passes(0.5);
}

template <class T>
void SoftmaxState<T>::multiply(const std::vector<T>& vector, std::vector<T>& margins) {
  for (std::int64_t k = 0; k < count_; ++k) {
    const T* own = vector.data() + k * width_;
    design_.multiply(own, own[columns_], margins.data() + k * rows_);
  }
  tracker_.add_passes(0.5);
}

template <class T>
void SoftmaxState<T>::multiply_hessian(const std::vector<T>& search, std::vector<T>& products,
                                       std::vector<T>& curved) {
  multiply(search, products);
  design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      double mean = 0;
      for (std::int64_t k = 0; k < count_; ++k)
        mean += static_cast<double>(probabilities_[k * rows_ + r]) *
                static_cast<double>(products[k * rows_ + r]);
      for (std::int64_t k = 0; k < count_; ++k)
        factors_[k * rows_ + r] =
            static_cast<T>(weight_of(r) * static_cast<double>(probabilities_[k * rows_ + r]) *
                           (static_cast<double>(products[k * rows_ + r]) - mean));
    }
  });
  for (std::int64_t k = 0; k < count_; ++k) {
    const T* factors = factors_.data() + k * rows_;
    T* own = curved.data() + k * width_;
    design_.transpose_multiply(factors, own);
    const double sum = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r) total += static_cast<double>(factors[r]);
      return total;
    });
    own[columns_] = options_.fit_intercept ? static_cast<T>(sum) : T{0};
  }
  tracker_.add_passes(0.5);
}

template <class T>
std::vector<double> SoftmaxState<T>::sum_vectors(std::int64_t size, const AddBody& body) const {
  std::vector<std::vector<double>> sums(std::max<std::int64_t>(1, design_.parts()),
                                        std::vector<double>(size));
  design_.for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    body(begin, end, sums[part].data());
  });
  for (std::size_t part = 1; part < sums.size(); ++part)
    add_to_double(sums[part].data(), size, sums[0].data());
  if (design_.ranks() != nullptr)
    design_.ranks()->all_reduce(Buffer::of(std::span<double>(sums[0])));
  return std::move(sums[0]);
}

template <class T>
MultinomialModel SoftmaxState<T>::found_by(const std::function<bool()>& steps) {
  bool has_converged = false;
  tracker_.run([&] { has_converged = steps(); });
  MultinomialModel model;
  model.has_converged = has_converged;
  model.coefficients.resize(count_ * design_.all_columns());
  double mean = 0;
  for (std::int64_t k = 0; k < count_; ++k)
    mean += weights_[k * width_ + columns_] / static_cast<double>(count_);
  for (std::int64_t k = 0; k < count_; ++k) {
    for (std::int64_t j = 0; j < columns_; ++j)
      model.coefficients[k * design_.all_columns() + design_.original(j)] =
          weights_[k * width_ + j];
    model.intercepts.push_back(weights_[k * width_ + columns_] - mean);
  }
  model.objective = objective_;
  model.dual_gap = tracker_.certain(objective_, gap_);
  model.history = tracker_.take();
  return model;
}

template class SoftmaxState<float>;
template class SoftmaxState<double>;

}  // namespace tutti::learn
