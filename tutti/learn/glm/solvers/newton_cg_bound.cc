#include "tutti/learn/glm/solvers/newton_cg_bound.h"

#include <algorithm>
#include <limits>

#include "tutti/learn/glm/problem/conjugate.h"

namespace tutti::learn {
namespace {

template <class T>
double squares_of_columns(QuadraticModel<T>& model, double step_size, double rest) {
  const CgState<T>& state = model.state;
  return model.over_vectors([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const double ridge = model.ridge_of(j);
      if (ridge == 0) continue;
      const double now = static_cast<double>(model.gradient[j]) - ridge * state.weights[j];
      double then = -static_cast<double>(model.residual[j]) -
                    ridge * (state.weights[j] + static_cast<double>(model.direction[j]));
      if (model.is_free) then += rest * static_cast<double>(model.curvature_columns[j]);
      const double column = (1 - step_size) * now + step_size * then;
      sum += column * column / ridge;
    }
    return sum;
  });
}

}  // namespace

template <class T>
double dual_lower_bound(QuadraticModel<T>& model) {
  CgState<T>& state = model.state;
  if (!(model.ridge > 0)) return -std::numeric_limits<double>::infinity();
  const Loss loss = state.problem.options.loss;
  double rest = 0;
  if (model.is_free) {
    if (model.curvature_columns.empty()) {
      model.curvature_columns.resize(state.columns);
      state.design.transpose_multiply(state.second.data(), model.curvature_columns.data());
      state.tracker.add_passes(0.5 * state.design.selected_fraction());
    }
    rest = static_cast<double>(model.residual[state.columns]) / state.sum_of(state.second);
  }
  const auto move_of = [&](std::int64_t r) {
    return static_cast<double>(state.second[r]) * (static_cast<double>(state.moves[r]) + rest);
  };
  const auto weight_of = [&](std::int64_t r) {
    return state.problem.weights.empty() ? 1.0 : static_cast<double>(state.problem.weights[r]);
  };
  std::vector<double> most(state.design.parts(), 1.0);
  state.design.for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      most[part] = std::min(most[part], max_feasible_step(loss, state.first[r], move_of(r),
                                                          state.problem.labels[r], weight_of(r)));
  });
  double step_size = *std::min_element(most.begin(), most.end());
  if (state.design.ranks() != nullptr)
    state.design.ranks()->all_reduce({&step_size, 1, DType::kF64}, ReduceOp::kMin);
  const double value = state.design.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r)
      sum += conjugate(loss, static_cast<double>(state.first[r]) + step_size * move_of(r),
                       state.problem.labels[r], weight_of(r));
    return sum;
  });
  return -value - squares_of_columns(model, step_size, rest) / 2;
}

template double dual_lower_bound(QuadraticModel<float>&);
template double dual_lower_bound(QuadraticModel<double>&);

}  // namespace tutti::learn
