#include "tutti/learn/glm/multinomial.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "tutti/core/error.h"
#include "tutti/learn/glm/internal/preconditioner.h"
#include "tutti/learn/glm/internal/problem.h"
#include "tutti/learn/glm/internal/solve_multinomial.h"
#include "tutti/learn/internal/vector_kernels.h"

namespace tutti::learn {
namespace {

constexpr int kMostSoftmaxSteps = 100;
constexpr double kSoftmaxForcing = 0.1;

// Vectors go class by class, each with a value per column and then the intercept's; arrays of rows
// go class by class too.
template <class T>
class Multinomial {
 public:
  Multinomial(Design<T>& design, std::span<const std::int32_t> classes, int count,
              std::span<const double> weights, const GlmOptions& options, Tracker& tracker)
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
    for (int k = 0; k < count; ++k) preconditioners_.emplace_back(design);
    for (auto* rows : {&margins_, &trial_, &shares_, &factors_, &moves_, &products_})
      rows->resize(count_ * rows_);
    for (auto* vector : {&gradient_, &direction_, &residual_, &search_, &curved_, &solved_})
      vector->resize(count_ * width_);
  }

  MultinomialModel run();

 private:
  bool run_steps();
  double evaluate(const std::vector<T>& margins);
  double penalty(double share) const;
  void find_gradient();
  void prepare(bool correlates);
  double precondition();
  double multiply_hessian();
  double find_direction();
  bool search_line(double promised);
  double ridge_of(std::int64_t i) const { return i % width_ < columns_ ? options_.l2 : 0; }
  double weight_of(std::int64_t r) const {
    return weights_of_rows_.empty() ? 1 : weights_of_rows_[r];
  }

  Design<T>& design_;
  std::span<const std::int32_t> classes_;
  std::span<const double> weights_of_rows_;
  const GlmOptions& options_;
  Tracker& tracker_;
  std::int64_t count_, rows_, columns_, width_;
  std::vector<double> weights_;
  std::vector<Preconditioner<T>> preconditioners_;
  // Margins, those of a trial, probabilities, what goes back to the columns, what the direction
  // adds.
  std::vector<T> margins_, trial_, shares_, factors_, moves_, products_;
  std::vector<T> gradient_, direction_, residual_, search_, curved_, solved_;
  double objective_ = 0, gap_ = 0;
};

// Fills `shares` with the probabilities; returns the loss.
template <class T>
double Multinomial<T>::evaluate(const std::vector<T>& margins) {
  return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double loss = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      T largest = margins[r];
      for (std::int64_t k = 1; k < count_; ++k) largest = std::max(largest, margins[k * rows_ + r]);
      double sum = 0;
      for (std::int64_t k = 0; k < count_; ++k) {
        const double e = std::exp(static_cast<double>(margins[k * rows_ + r] - largest));
        shares_[k * rows_ + r] = static_cast<T>(e);
        sum += e;
      }
      for (std::int64_t k = 0; k < count_; ++k)
        shares_[k * rows_ + r] = static_cast<T>(shares_[k * rows_ + r] / sum);
      const double own = static_cast<double>(margins[classes_[r] * rows_ + r] - largest);
      loss += weight_of(r) * (std::log(sum) - own);
    }
    return loss;
  });
}

template <class T>
double Multinomial<T>::penalty(double share) const {
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double w = weights_[i] + share * static_cast<double>(direction_[i]);
    sum += ridge_of(static_cast<std::int64_t>(i)) * w * w / 2;
  }
  return sum;
}

template <class T>
void Multinomial<T>::find_gradient() {
  double square = 0;
  for (std::int64_t k = 0; k < count_; ++k) {
    T* factors = factors_.data() + k * rows_;
    const double sum = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r) {
        const double factor =
            weight_of(r) * (static_cast<double>(shares_[k * rows_ + r]) - (classes_[r] == k));
        factors[r] = static_cast<T>(factor);
        total += factor;
      }
      return total;
    });
    T* gradient = gradient_.data() + k * width_;
    design_.transpose_multiply(factors, gradient);
    gradient[columns_] = options_.fit_intercept ? static_cast<T>(sum) : T{0};
    for (std::int64_t j = 0; j < columns_; ++j) {
      gradient[j] += static_cast<T>(options_.l2 * weights_[k * width_ + j]);
      square += static_cast<double>(gradient[j]) * static_cast<double>(gradient[j]);
    }
  }
  tracker_.add_passes(0.5);
  if (options_.l2 > 0) gap_ = square / (2 * options_.l2);
}

// One preconditioner per class: between classes the Hessian is left out.
template <class T>
void Multinomial<T>::prepare(bool correlates) {
  std::vector<T> curvature(rows_), ignored(width_), diagonal(width_);
  for (std::int64_t k = 0; k < count_; ++k) {
    const T* shares = shares_.data() + k * rows_;
    const double sum = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r) {
        curvature[r] =
            static_cast<T>(weight_of(r) * std::max(1e-8, static_cast<double>(shares[r]) *
                                                             (1 - static_cast<double>(shares[r]))));
        total += static_cast<double>(curvature[r]);
      }
      return total;
    });
    design_.gradient_and_diagonal(curvature.data(), curvature.data(), ignored.data(),
                                  diagonal.data());
    if (correlates) preconditioners_[k].correlate(curvature.data());
    preconditioners_[k].set_diagonal(diagonal.data(), options_.fit_intercept ? sum : 0,
                                     options_.l2);
  }
  tracker_.add_passes(0.5);
}

template <class T>
double Multinomial<T>::precondition() {
  double product = 0;
  for (std::int64_t k = 0; k < count_; ++k)
    product +=
        preconditioners_[k].apply(residual_.data() + k * width_, solved_.data() + k * width_);
  return product;
}

template <class T>
double Multinomial<T>::multiply_hessian() {
  for (std::int64_t k = 0; k < count_; ++k) {
    const T* search = search_.data() + k * width_;
    design_.multiply(search, search[columns_], products_.data() + k * rows_);
  }
  std::vector<double> sums(count_);
  design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      double mean = 0;
      for (std::int64_t k = 0; k < count_; ++k)
        mean += static_cast<double>(shares_[k * rows_ + r]) *
                static_cast<double>(products_[k * rows_ + r]);
      for (std::int64_t k = 0; k < count_; ++k)
        factors_[k * rows_ + r] =
            static_cast<T>(weight_of(r) * static_cast<double>(shares_[k * rows_ + r]) *
                           (static_cast<double>(products_[k * rows_ + r]) - mean));
    }
  });
  double product = 0;
  for (std::int64_t k = 0; k < count_; ++k) {
    const T* factors = factors_.data() + k * rows_;
    T* curved = curved_.data() + k * width_;
    design_.transpose_multiply(factors, curved);
    const double sum = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
      double total = 0;
      for (std::int64_t r = begin; r < end; ++r) total += static_cast<double>(factors[r]);
      return total;
    });
    curved[columns_] = options_.fit_intercept ? static_cast<T>(sum) : T{0};
    for (std::int64_t j = 0; j < width_; ++j) {
      curved[j] += static_cast<T>(ridge_of(j)) * search_[k * width_ + j];
      product += static_cast<double>(curved[j]) * static_cast<double>(search_[k * width_ + j]);
    }
  }
  tracker_.add_passes(1);
  return product;
}

// Returns what the quadratic model gains.
template <class T>
double Multinomial<T>::find_direction() {
  std::fill(direction_.begin(), direction_.end(), T{0});
  std::fill(moves_.begin(), moves_.end(), T{0});
  for (std::size_t i = 0; i < residual_.size(); ++i) residual_[i] = -gradient_[i];
  double length = precondition(), gain = 0;
  const double first_length = length;
  search_ = solved_;
  for (int step = 0;
       step < kMostSoftmaxSteps && length > kSoftmaxForcing * kSoftmaxForcing * first_length;
       ++step) {
    const double curvature = multiply_hessian();
    if (!(curvature > 0)) break;
    const T share = static_cast<T>(length / curvature);
    gain += length * length / curvature / 2;
    add_scaled(share, products_.data(), count_ * rows_, moves_.data());
    add_scaled(share, search_.data(), count_ * width_, direction_.data());
    add_scaled(-share, curved_.data(), count_ * width_, residual_.data());
    const double before = length;
    length = precondition();
    const T keep = static_cast<T>(length / before);
    for (std::size_t i = 0; i < search_.size(); ++i) search_[i] = solved_[i] + keep * search_[i];
  }
  return gain;
}

template <class T>
bool Multinomial<T>::search_line(double promised) {
  double share = 1;
  for (int attempt = 0; attempt < 40; ++attempt, share /= 2) {
    for (std::size_t i = 0; i < trial_.size(); ++i)
      trial_[i] = margins_[i] + static_cast<T>(share) * moves_[i];
    const double value = evaluate(trial_) + penalty(share);
    if (value > objective_ - 1e-4 * share * promised) continue;
    margins_.swap(trial_);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i] += share * static_cast<double>(direction_[i]);
    objective_ = value;
    return true;
  }
  return false;
}

// Whether they led to the end.
template <class T>
bool Multinomial<T>::run_steps() {
  objective_ = evaluate(margins_);
  tracker_.set_scale(objective_);
  bool has_converged = false;
  for (int iteration = 0; iteration < options_.max_iterations && !has_converged; ++iteration) {
    find_gradient();
    prepare(iteration == 0);
    const double gain = find_direction();
    if (!(options_.l2 > 0)) gap_ = gain;
    if (!tracker_.report(objective_, gap_)) break;
    has_converged = tracker_.is_enough(objective_, gap_) || gain <= 1e-15 * objective_;
    if (!search_line(gain)) has_converged = true;
  }
  return has_converged;
}

template <class T>
MultinomialModel Multinomial<T>::run() {
  MultinomialModel model;
  tracker_.run([&] { model.has_converged = run_steps(); });
  model.coefficients.resize(count_ * columns_);
  double mean = 0;
  for (std::int64_t k = 0; k < count_; ++k)
    mean += weights_[k * width_ + columns_] / static_cast<double>(count_);
  for (std::int64_t k = 0; k < count_; ++k) {
    std::copy_n(weights_.begin() + k * width_, columns_, model.coefficients.begin() + k * columns_);
    model.intercepts.push_back(weights_[k * width_ + columns_] - mean);
  }
  model.objective = objective_;
  model.dual_gap = gap_;
  model.history = tracker_.take();
  return model;
}

}  // namespace

template <class T>
MultinomialModel solve_multinomial(Design<T>& design, std::span<const std::int32_t> classes,
                                   int count, std::span<const double> weights,
                                   const GlmOptions& options) {
  Tracker tracker(options);
  MultinomialModel model = Multinomial<T>(design, classes, count, weights, options, tracker).run();
  std::vector<double> original(count * design.all_columns());
  for (int k = 0; k < count; ++k)
    for (std::int64_t j = 0; j < design.columns(); ++j)
      original[k * design.all_columns() + design.original(j)] =
          model.coefficients[k * design.columns() + j];
  model.coefficients = std::move(original);
  return model;
}
template MultinomialModel solve_multinomial(Design<float>&, std::span<const std::int32_t>, int,
                                            std::span<const double>, const GlmOptions&);
template MultinomialModel solve_multinomial(Design<double>&, std::span<const std::int32_t>, int,
                                            std::span<const double>, const GlmOptions&);

void check_multinomial(std::int64_t rows, std::span<const std::int32_t> classes, int count,
                       std::span<const double> weights, const GlmOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw ConfigError("DDL-9-11", sentence); };
  if (static_cast<std::int64_t>(classes.size()) != rows)
    refuse(fmt::format("There are {} labels for {} rows.", classes.size(), rows));
  if (!weights.empty() && weights.size() != classes.size())
    refuse(fmt::format("There are {} weights for {} rows.", weights.size(), classes.size()));
  if (classes.empty() && options.ranks == nullptr) refuse("There are no rows to learn from.");
  if (options.l1 > 0)
    refuse("Several classes at once have no l1 penalty. Fit one class against the rest.");
  for (std::size_t row = 0; row < classes.size(); ++row)
    if (classes[row] < 0 || classes[row] >= count)
      refuse(fmt::format("The class of row {} is {}, outside of 0..{}.", row, classes[row],
                         count - 1));
}

MultinomialModel fit_multinomial(const Matrix& features, std::span<const std::int32_t> classes,
                                 int count, std::span<const double> weights,
                                 const GlmOptions& options) {
  Threads threads(options.threads);
  check_multinomial(features.rows, classes, count, weights, options);
  check(features, threads);
  const auto solve = [&]<class T>(const std::unique_ptr<Design<T>>& design) {
    return solve_multinomial(*design, classes, count, weights, options);
  };
  return features.dtype == DType::kF32
             ? solve(Design<float>::create(features, threads, options.ranks))
             : solve(Design<double>::create(features, threads, options.ranks));
}

}  // namespace tutti::learn
