#include "tutti/learn/glm/solvers/newton.h"

#include <algorithm>
#include <cmath>

#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/glm/design/narrow_rows.h"
#include "tutti/learn/glm/linalg/cholesky.h"
#include "tutti/learn/glm/linalg/quadratic.h"
#include "tutti/learn/glm/problem/l1_bound.h"
#include "tutti/learn/glm/solvers/f64_accumulation.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kMinSampleRows = 16384;
constexpr std::int64_t kSampleRowsPerColumn = 100;
// Fraction of the objective; smaller gains are lost in f32 sums.
constexpr double kF32Resolution = 1e-7;
constexpr int kMaxRefinements = 6;

// Result of a pass at the given weights, in shifted columns with the intercept last.
struct Model {
  double objective = 0;
  std::vector<double> gradient, hessian;  // size and size x size
};

template <class T>
class Newton {
 public:
  Newton(Problem<T>& problem, Tracker& tracker)
      : problem_(problem),
        tracker_(tracker),
        design_(static_cast<DenseDesign<T>&>(problem.design)),
        columns_(design_.columns()),
        size_(columns_ + 1),
        width_((size_ + kPadding - 1) / kPadding * kPadding),
        has_intercept_(problem.options.fit_intercept),
        is_free_(has_intercept_ && !problem.options.penalise_intercept) {}

  Solution run();

 private:
  void start();
  void find_shift();
  std::int64_t sample_stride() const;
  bool run_stage(std::int64_t stride);
  Model pass(const std::vector<double>& weights, const Model* known = nullptr);
  void add_block(std::int64_t begin, std::int64_t end, const T* rows, const T* weights, T* tile,
                 double* sums, bool has_gram);
  void add_narrow_block(std::int64_t begin, std::int64_t end, const T* rows, const T* weights,
                        T* tile, double* sums, bool has_gram);
  void keep_derivatives(std::int64_t begin, std::int64_t count, const T* first, const T* second);
  std::vector<double> hessian_of(const double* gram) const;
  void add_penalty(const std::vector<double>& weights, Model& model) const;
  std::vector<double> direction_of(const Model& model) const;
  double gap_of(const Model& model, const std::vector<double>& direction) const;
  template <class Derivative>
  double gap_with_l1(const Model& model, std::vector<Derivative> first,
                     const std::vector<Derivative>& second) const;
  bool can_refine() const;
  void refine(int most_steps);
  double promise_of(const Model& model, const std::vector<double>& direction) const;
  double ridge_of(std::int64_t j) const;

  double l1() const { return problem_.options.l1 / static_cast<double>(design_.stride()); }

  Problem<T>& problem_;
  Tracker& tracker_;
  DenseDesign<T>& design_;
  std::int64_t columns_, size_, width_;
  bool has_intercept_, is_free_;
  std::vector<T> first_, second_;  // per row, for the l1 bound
  std::vector<T> shift_;  // subtracted from the columns if there is an intercept to absorb it
  std::vector<double> weights_;  // the intercept last
  Model model_;
  double gap_ = 0;
  bool has_nothing_to_gain_ = false;
};

template <class T>
double Newton<T>::ridge_of(std::int64_t j) const {
  const double value = problem_.options.intercept_value;
  if (j == columns_ && is_free_) return 0;
  const double ridge = problem_.options.l2 / static_cast<double>(design_.stride());
  return j < columns_ ? ridge : ridge / (value * value);
}

template <class T>
std::int64_t Newton<T>::sample_stride() const {
  const GlmOptions& options = problem_.options;
  if (!options.start_coefficients.empty() || options.loss == Loss::kSquared) return 1;
  if (design_.is_streamed()) return 1;
  const std::int64_t rows = std::max(kMinSampleRows, kSampleRowsPerColumn * size_);
  const std::int64_t stride = design_.total_rows() / rows;
  return stride >= 8 ? stride : 1;
}

// Shifting columns that are far from 0 preserves the precision of the sums; approximate means suffice.
template <class T>
void Newton<T>::find_shift() {
  if (!is_free_) return;
  // Sums of the columns, then the number of rows.
  std::vector<std::vector<double>> sums(design_.parts(), std::vector<double>(columns_ + 1));
  const std::vector<T> ones(kBlockRows, T{1});
  design_.for_data_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    std::vector<T> block(columns_);
    add_rows(design_.row(begin), design_.stride_of_rows(), end - begin, columns_, ones.data(),
             block.data());
    add_to_double(block.data(), columns_, sums[part].data());
    sums[part][columns_] += static_cast<double>(end - begin);
  });
  for (std::size_t part = 1; part < sums.size(); ++part)
    add_to_double(sums[part].data(), columns_ + 1, sums[0].data());
  if (design_.ranks() != nullptr)
    design_.ranks()->all_reduce(Buffer::of(std::span<double>(sums[0])));
  for (std::int64_t j = 0; j < columns_; ++j)
    shift_.push_back(static_cast<T>(sums[0][j] / std::max(1.0, sums[0][columns_])));
}

template <class T>
void Newton<T>::start() {
  const GlmOptions& options = problem_.options;
  weights_.assign(size_, 0);
  std::copy(options.start_coefficients.begin(), options.start_coefficients.end(), weights_.begin());
  weights_[columns_] = has_intercept_ ? options.start_intercept : 0;
  design_.select(std::max<std::int64_t>(1, design_.total_rows() / kMinSampleRows));
  find_shift();
  if (options.l1 > 0) first_.resize(design_.rows()), second_.resize(design_.rows());
  if (!options.start_coefficients.empty()) {
    for (std::size_t j = 0; j < shift_.size(); ++j) weights_[columns_] += weights_[j] * shift_[j];
  } else if (is_free_) {
    const auto mean = [&](bool with_labels) {
      return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t r = begin; r < end; ++r)
          sum += (problem_.weights.empty() ? 1.0 : static_cast<double>(problem_.weights[r])) *
                 (with_labels ? static_cast<double>(problem_.labels[r]) : 1.0);
        return sum;
      });
    };
    const double total = mean(false);
    if (total > 0) weights_[columns_] = constant_margin(options.loss, mean(true) / total);
  }
}

// `sums` contains the loss, the gradient (width) and, if `has_gram`, the Gram matrix (width x width).
template <class T>
void Newton<T>::add_block(std::int64_t begin, std::int64_t end, const T* rows, const T* weights,
                          T* tile, double* sums, bool has_gram) {
  const std::int64_t count = end - begin;
  fill_rows(rows, design_.stride_of_rows(), count, columns_,
            shift_.empty() ? nullptr : shift_.data(), width_, tile);
  T margins[kBlockRows], first[kBlockRows], second[kBlockRows];
  multiply_rows(tile, width_, count, width_, weights, T{0}, margins);
  sums[0] += loss_terms(problem_.options.loss, margins, problem_.labels.data() + begin,
                        problem_.weights_at(begin), count, first, second);
  keep_derivatives(begin, count, first, second);
  T* const packed = tile + kBlockRows * width_;
  T* const gradient = packed;  // until the rows are packed
  std::fill(gradient, gradient + width_, T{0});
  add_rows(tile, width_, count, width_, first, gradient);
  add_to_double(gradient, width_, sums + 1);
  if (!has_gram) return;
  pack_rows(tile, width_, count, width_, second, width_, packed);
  add_gram(packed, count, width_, 0, width_, sums + 1 + width_);
}

template <class T>
void Newton<T>::keep_derivatives(std::int64_t begin, std::int64_t count, const T* first,
                                 const T* second) {
  if (first_.empty()) return;
  std::copy(first, first + count, first_.begin() + begin);
  std::copy(second, second + count, second_.begin() + begin);
}

// The same for few columns.
template <class T>
void Newton<T>::add_narrow_block(std::int64_t begin, std::int64_t end, const T* rows,
                                 const T* weights, T* tile, double* sums, bool has_gram) {
  const std::int64_t count = end - begin;
  fill_columns(rows, design_.stride_of_rows(), count, columns_,
               shift_.empty() ? nullptr : shift_.data(), tile);
  T margins[kBlockRows], first[kBlockRows], second[kBlockRows];
  std::fill_n(margins, count, weights[columns_]);
  for (std::int64_t j = 0; j < columns_; ++j)
    add_scaled(weights[j], tile + j * kMaxNarrowRows, count, margins);
  sums[0] += loss_terms(problem_.options.loss, margins, problem_.labels.data() + begin,
                        problem_.weights_at(begin), count, first, second);
  keep_derivatives(begin, count, first, second);
  for (std::int64_t j = 0; j < size_; ++j)
    sums[1 + j] += dot(first, tile + j * kMaxNarrowRows, count);
  if (has_gram) add_narrow_gram(tile, count, size_, second, width_, sums + 1 + width_);
}

// Evaluates the weights. The Hessian of the squared loss is the same for all weights: `known` has it.
template <class T>
Model Newton<T>::pass(const std::vector<double>& weights, const Model* known) {
  const bool has_gram = known == nullptr;
  const std::int64_t count = 1 + width_ + (has_gram ? width_ * width_ : 0);
  std::vector<T> padded(width_);
  std::copy(weights.begin(), weights.end(), padded.begin());
  std::vector<std::vector<double>> sums(design_.parts());
  std::vector<std::vector<T>> tiles(design_.parts());
  design_.for_row_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end,
                             const T* rows) {
    if (sums[part].empty()) {
      sums[part].assign(count, 0);
      tiles[part].resize(2 * kBlockRows * width_);  // the rows, then the packed rows
    }
    const auto add = columns_ <= kMaxNarrowColumns ? &Newton::add_narrow_block : &Newton::add_block;
    (this->*add)(begin, end, rows, padded.data(), tiles[part].data(), sums[part].data(), has_gram);
  });
  std::vector<double> total(count);
  for (const auto& part : sums)
    for (std::size_t i = 0; i < part.size(); ++i) total[i] += part[i];
  if (design_.ranks() != nullptr) design_.ranks()->all_reduce(Buffer::of(std::span<double>(total)));
  tracker_.add_passes(1 / static_cast<double>(design_.stride()));
  Model model{.objective = total[0], .gradient = {}, .hessian = {}};
  model.gradient.assign(total.begin() + 1, total.begin() + 1 + size_);
  add_penalty(weights, model);
  model.hessian = has_gram ? hessian_of(total.data() + 1 + width_) : known->hessian;
  return model;
}

template <class T>
std::vector<double> Newton<T>::hessian_of(const double* gram) const {
  std::vector<double> hessian(size_ * size_);
  for (std::int64_t i = 0; i < size_; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      hessian[i * size_ + j] = hessian[j * size_ + i] = gram[j * width_ + i];
  for (std::int64_t j = 0; j < size_; ++j) {
    hessian[j * size_ + j] += ridge_of(j);
    if (!has_intercept_) hessian[columns_ * size_ + j] = hessian[j * size_ + columns_] = 0;
  }
  return hessian;
}

// Adds the penalty to objective and gradient.
template <class T>
void Newton<T>::add_penalty(const std::vector<double>& weights, Model& model) const {
  for (std::int64_t j = 0; j < size_; ++j) {
    model.objective += ridge_of(j) * weights[j] * weights[j] / 2;
    if (j < columns_) model.objective += l1() * std::abs(weights[j]);
    model.gradient[j] += ridge_of(j) * weights[j];
  }
  if (!has_intercept_) model.gradient[columns_] = 0;
}

template <class T>
std::vector<double> Newton<T>::direction_of(const Model& model) const {
  if (l1() > 0) return minimise_quadratic(model.gradient, model.hessian, weights_, l1(), columns_);
  std::vector<double> direction(size_);
  for (std::int64_t j = 0; j < size_; ++j) direction[j] = -model.gradient[j];
  Cholesky(model.hessian, size_, design_.threads()).solve(direction.data());
  return direction;
}

// Bound of the distance to the optimum. With l2 > 0 the objective is strongly convex, so the squared gradient bounds
// it, after the remaining gain of an unpenalised intercept is removed. Without a penalty the gain predicted by the
// quadratic model is used.
template <class T>
double Newton<T>::gap_of(const Model& model, const std::vector<double>& direction) const {
  const double promised = promise_of(model, direction);
  double square = 0;
  if (l1() > 0) return design_.stride() == 1 ? gap_with_l1(model, first_, second_) : promised;
  if (!(problem_.options.l2 > 0)) return promised;
  const double curvature = model.hessian[size_ * size_ - 1];
  const double own = is_free_ && curvature > 0 ? model.gradient[columns_] / curvature : 0;
  for (std::int64_t j = 0; j < size_; ++j) {
    if (ridge_of(j) == 0) continue;
    const double rest = model.gradient[j] - model.hessian[j * size_ + columns_] * own;
    square += rest * rest / ridge_of(j);
  }
  return square / 2 + own * own * curvature / 2;
}

// The same with an l1 penalty, from a dual point given by the derivatives of the rows. With an unpenalised intercept
// they must sum to 0, so they are evaluated after one more step of the intercept alone.
template <class T>
template <class Derivative>
double Newton<T>::gap_with_l1(const Model& model, std::vector<Derivative> first,
                              const std::vector<Derivative>& second) const {
  const double curvature = model.hessian[size_ * size_ - 1];
  const double own = is_free_ && curvature > 0 ? model.gradient[columns_] / curvature : 0;
  std::vector<double> columns(columns_);
  for (std::int64_t j = 0; j < columns_; ++j) {
    columns[j] =
        model.gradient[j] - ridge_of(j) * weights_[j] - own * model.hessian[j * size_ + columns_];
    // A weak penalty is less than the rounding of a sum over the rows, about that of a random walk.
    const double rounding =
        0x1p-50 * std::sqrt(static_cast<double>(first.size()) * model.hessian[j * size_ + j]);
    if (std::abs(columns[j]) <= l1() + rounding) columns[j] = std::clamp(columns[j], -l1(), l1());
  }
  for (std::size_t r = 0; r < first.size(); ++r)
    first[r] -= static_cast<Derivative>(own) * second[r];
  return model.objective - l1_lower_bound(problem_, first.data(), columns.data(), columns_);
}

// f64 sums need all rows in memory and space for their derivatives.
template <class T>
bool Newton<T>::can_refine() const {
  return l1() > 0 && design_.stride() == 1 && !design_.is_streamed();
}

// Refinement steps with sums in f64, after the objective can no longer detect a gain. The gap needs them: with l1 it is
// proportional to the error of the gradient relative to l1, whereas the objective is proportional to its square. The
// Hessian need not be exact and is kept.
template <class T>
void Newton<T>::refine(int most_steps) {
  for (int step = 0; step < most_steps; ++step) {
    F64Sums sums = f64_sums(problem_, design_, weights_, shift_);
    tracker_.add_passes(1);
    model_.objective = sums.loss;
    model_.gradient = std::move(sums.gradient);
    add_penalty(weights_, model_);
    gap_ = gap_with_l1(model_, std::move(sums.first), sums.second);
    if (!tracker_.report(model_.objective, gap_) ||
        tracker_.is_within_tolerance(model_.objective, gap_))
      return;
    if (step + 1 == most_steps) return;
    const std::vector<double> direction = direction_of(model_);
    for (std::int64_t j = 0; j < size_; ++j) weights_[j] += direction[j];
  }
}

// Predicted gain of the step: of the quadratic model and of the l1 penalty.
template <class T>
double Newton<T>::promise_of(const Model& model, const std::vector<double>& direction) const {
  double promised = 0;
  for (std::int64_t j = 0; j < size_; ++j) promised -= model.gradient[j] * direction[j];
  if (l1() == 0) return promised / 2;
  for (std::int64_t j = 0; j < columns_; ++j)
    promised -= l1() * (std::abs(weights_[j] + direction[j]) - std::abs(weights_[j]));
  return promised / 2;
}

// Returns whether to continue with the next stage.
template <class T>
bool Newton<T>::run_stage(std::int64_t stride) {
  design_.select(stride);
  const bool is_last = stride == 1;
  model_ = pass(weights_);
  if (is_last) tracker_.set_scale(model_.objective);
  for (int iteration = 0; iteration < problem_.options.max_iterations; ++iteration) {
    std::vector<double> direction = direction_of(model_);
    gap_ = gap_of(model_, direction);
    const double promised = promise_of(model_, direction);
    if (is_last && !tracker_.report(model_.objective, gap_)) return false;
    if (is_last && tracker_.is_within_tolerance(model_.objective, gap_)) return false;
    const int iterations_left = problem_.options.max_iterations - iteration - 1;
    const double resolution = sizeof(T) == 4 ? kF32Resolution : kRelativeRounding;
    if (can_refine() && promised <= resolution * std::abs(model_.objective)) {
      refine(std::min(kMaxRefinements, iterations_left));
      return false;
    }
    has_nothing_to_gain_ = promised <= kRelativeRounding * std::abs(model_.objective);
    if (has_nothing_to_gain_) {  // the objective cannot improve measurably; the weights still gain precision
      for (std::int64_t j = 0; j < size_; ++j) weights_[j] += direction[j];
      return !is_last;
    }
    std::vector<double> next(size_);
    Model found;
    double step_size = 1;
    for (int attempt = 0; attempt < 40; ++attempt, step_size /= 2) {
      for (std::int64_t j = 0; j < size_; ++j) next[j] = weights_[j] + step_size * direction[j];
      found = pass(next, problem_.options.loss == Loss::kSquared ? &model_ : nullptr);
      if (found.objective <= model_.objective - 1e-4 * step_size * promised) break;
    }
    // The precision limit is reached: no measurable improvement.
    has_nothing_to_gain_ = !(found.objective < model_.objective);
    if (has_nothing_to_gain_ && can_refine()) refine(std::min(kMaxRefinements, iterations_left));
    if (has_nothing_to_gain_) return !is_last;
    weights_ = next;
    model_ = std::move(found);
    if (!is_last && promised < 1e-3 * model_.objective) return true;
  }
  return false;
}

template <class T>
Solution Newton<T>::run() {
  tracker_.run([&] {
    start();
    const std::int64_t stride = sample_stride();
    if (stride > 1) run_stage(stride);
    run_stage(1);
  });
  Solution solution = tracker_.found(weights_, model_.objective, gap_, has_nothing_to_gain_);
  for (std::size_t j = 0; j < shift_.size(); ++j) solution.intercept -= weights_[j] * shift_[j];
  return solution;
}

}  // namespace

template <class T>
Solution solve_newton(Problem<T>& problem, Tracker& tracker) {
  return Newton<T>(problem, tracker).run();
}

template Solution solve_newton(Problem<float>&, Tracker&);
template Solution solve_newton(Problem<double>&, Tracker&);

}  // namespace tutti::learn
