#include "tutti/learn/glm/solvers/newton_cg_stream.h"

#include "tutti/learn/glm/design/dense_design.h"

namespace tutti::learn {
namespace {

constexpr double kResidentForcing = 0.1;
constexpr std::int64_t kResidentRowsPerColumn = 12;
constexpr std::int64_t kReadingParts = 16;
// Maximum mean loss of a part relative to the first one; above it the weights have diverged.
constexpr double kMaxLoss = 1.1;
constexpr double kStepForcing = 0.02;  // a smaller residual would be lost in the remaining error

// Sums over the rows seen so far.
struct SeenRows {
  double fraction = 0;
  std::vector<double> gradients;  // of their losses
  std::vector<double> points;     // weights at which they were evaluated, times their fractions

  explicit SeenRows(std::size_t size) : gradients(size), points(size) {}
  template <class T>
  void add(double more, const std::vector<T>& gradient, const std::vector<double>& weights) {
    fraction += more;
    for (std::size_t j = 0; j < gradients.size(); ++j) {
      gradients[j] += static_cast<double>(gradient[j]);
      points[j] += more * weights[j];
    }
  }
};

}  // namespace

template <class T>
bool StreamedNewton<T>::has_enough_residents() const {
  const double rows = model_.state.design.selected_fraction() *
                      static_cast<double>(model_.state.design.total_rows());
  return model_.state.design.is_streamed() &&
         rows >= static_cast<double>(kResidentRowsPerColumn * model_.state.columns);
}

template <class T>
double StreamedNewton<T>::find_direction_of_residents(double forcing) {
  model_.state.design.select_residents();
  // With y columns per row, the Hessian of a sample is (1 - sqrt(y))^2 to (1 + sqrt(y))^2 times the true one. Scaling
  // it by this factor balances overshooting and undershooting.
  const double rows = model_.state.design.selected_fraction() *
                      static_cast<double>(model_.state.design.total_rows());
  const double y = static_cast<double>(model_.state.columns) / rows;
  model_.row_scale = (1 + y) / ((1 - y) * (1 - y)) / model_.state.design.selected_fraction();
  const double gain = model_.find_direction(forcing);
  model_.row_scale = 1;
  return gain;
}

template <class T>
double StreamedNewton<T>::find_direction() {
  const double gain = find_direction_of_residents(kResidentForcing);
  model_.state.design.select(1);
  read_step();
  return gain;
}

template <class T>
void StreamedNewton<T>::read_step() {
  const GlmOptions& options = model_.state.problem.options;
  next_gradient.resize(model_.state.columns + 1);
  if (model_.is_free) model_.curvature_columns.resize(model_.state.columns);
  const auto fill = [&](std::int64_t begin, std::int64_t end, T* first) {
    T margins[kBlockRows], second[kBlockRows];
    for (std::int64_t r = begin; r < end; ++r)
      margins[r - begin] = model_.state.margins[r] + model_.state.moves[r];
    loss_terms(options.loss, margins, model_.state.problem.labels.data() + begin,
               model_.state.problem.weights_at(begin), end - begin, first, second);
  };
  const double sum =
      static_cast<DenseDesign<T>&>(model_.state.design)
          .step(model_.direction.data(), model_.direction[model_.state.columns],
                model_.state.second.data(), fill, model_.state.moves.data(), model_.curved.data(),
                next_gradient.data(), model_.is_free ? model_.curvature_columns.data() : nullptr);
  model_.state.tracker.add_passes(1);
  model_.curved[model_.state.columns] = model_.has_intercept ? static_cast<T>(sum) : T{0};
  for (std::int64_t j = 0; j <= model_.state.columns; ++j)
    model_.residual[j] = -model_.gradient[j] - model_.curved[j] -
                         static_cast<T>(model_.ridge_of(j)) * model_.direction[j];
}

template <class T>
void StreamedNewton<T>::precondition_by_residents() {
  const double fraction = model_.state.design.selected_fraction();
  for (T& value : model_.diagonal) value = static_cast<T>(static_cast<double>(value) / fraction);
  const double intercept =
      model_.has_intercept
          ? model_.intercept_ridge + model_.state.sum_of(model_.state.second) / fraction
          : 0;
  model_.preconditioner.set_diagonal(model_.diagonal.data(), intercept, model_.ridge);
}

template <class T>
void StreamedNewton<T>::read_in_parts() {
  model_.set_ridge(1);
  model_.state.design.select_residents();
  model_.evaluate();
  precondition_by_residents();
  SeenRows seen(model_.state.weights.size()), others(model_.state.weights.size());
  seen.add(model_.state.design.selected_fraction(), model_.gradient, model_.state.weights);
  const std::vector<double> start = model_.state.weights;
  double first_loss = -1;
  bool has_diverged = false;
  for (std::int64_t part = 0; part < kReadingParts; ++part) {
    model_.state.design.select_others(part, kReadingParts);
    if (model_.state.design.selected_fraction() == 0) continue;
    const double loss = model_.evaluate() / model_.state.design.selected_fraction();
    if (first_loss < 0) first_loss = loss;
    has_diverged |= !(loss <= kMaxLoss * first_loss);
    seen.add(model_.state.design.selected_fraction(), model_.gradient, model_.state.weights);
    others.add(model_.state.design.selected_fraction(), model_.gradient, model_.state.weights);
    for (std::int64_t j = 0; j <= model_.state.columns; ++j)
      model_.residual[j] =
          static_cast<T>((seen.gradients[j] + model_.ridge_of(j) * seen.points[j]) / seen.fraction);
    model_.preconditioner.apply(model_.residual.data(), model_.solved.data());
    for (std::int64_t j = 0; j <= model_.state.columns; ++j)
      model_.state.weights[j] =
          seen.points[j] / seen.fraction - static_cast<double>(model_.solved[j]);
    if (has_diverged) model_.state.weights = start;
  }
  std::vector<T> way(model_.state.weights.size());
  for (std::int64_t j = 0; j <= model_.state.columns; ++j)
    way[j] = static_cast<T>(others.fraction * model_.state.weights[j] - others.points[j]);
  step_from_parts(others.gradients, way);
}

template <class T>
void StreamedNewton<T>::step_from_parts(const std::vector<double>& gradients,
                                        const std::vector<T>& way) {
  model_.state.design.select_residents();
  model_.evaluate();
  precondition_by_residents();
  const double sum = model_.state.design.curvature_multiply(
      way.data(), way[model_.state.columns], model_.state.second.data(),
      model_.state.step_products.data(), model_.curved.data());
  model_.state.tracker.add_passes(model_.state.design.selected_fraction());
  model_.curved[model_.state.columns] = model_.has_intercept ? static_cast<T>(sum) : T{0};
  for (std::int64_t j = 0; j <= model_.state.columns; ++j)
    model_.gradient[j] += static_cast<T>(gradients[j] +
                                         static_cast<double>(model_.curved[j]) /
                                             model_.state.design.selected_fraction() +
                                         model_.ridge_of(j) * model_.state.weights[j]);
  find_direction_of_residents(kStepForcing);
  for (std::int64_t j = 0; j <= model_.state.columns; ++j)
    model_.state.weights[j] += static_cast<double>(model_.direction[j]);
  model_.state.design.select(1);
}

template class StreamedNewton<float>;
template class StreamedNewton<double>;

}  // namespace tutti::learn
