#include "tutti/learn/tree/internal/fourier_learner.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "tutti/comm/communicator.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/dense_rows.h"
#include "tutti/learn/tree/bins/fixed_point_sum.h"
#include "tutti/learn/tree/bins/residency.h"
#include "tutti/learn/tree/model/fourier_features.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kBlock = 2048;  // rows

// Calls `body(first, last, rows, stride)` for blocks of dense rows.
template <class Body>
void for_blocks(const Matrix& matrix, Threads& threads, const Body& body) {
  const MappedRows source(matrix);
  threads.for_range(matrix.rows, kBlock, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> buffer;
    std::int64_t stride = 0;
    const double* rows = dense_rows<double>(matrix, begin, end, buffer, stride);
    body(begin, end, rows, stride);
    source.release(begin, end);
  });
}

using Chunk = std::vector<GradientPair>;

Chunk gradients_of(const GradientTask& task, std::int64_t begin, std::int64_t end) {
  Chunk chunk(static_cast<std::size_t>(end - begin));
  task.objective.gradients(task.targets.labels, task.targets.weights, task.scores, task.output,
                           begin, end, chunk.data());
  return chunk;
}

// Maximum gradient and hessian over all rows.
std::vector<double> find_greatest(const GradientTask& task, std::int64_t rows, Threads& threads,
                                  comm::Communicator* communicator) {
  std::vector<double> greatest = {1e-300, 1e-300};
  std::mutex mutex;
  threads.for_range(rows, kBlock, [&](std::int64_t begin, std::int64_t end) {
    double g = 0, h = 0;
    for (const GradientPair& pair : gradients_of(task, begin, end)) {
      g = std::max(g, std::abs(static_cast<double>(pair.gradient)));
      h = std::max(h, static_cast<double>(pair.hessian));
    }
    const std::lock_guard lock(mutex);
    greatest[0] = std::max(greatest[0], g);
    greatest[1] = std::max(greatest[1], h);
  });
  if (communicator != nullptr)
    communicator->all_reduce(Buffer::of<double>(greatest), ReduceOp::kMax);
  return greatest;
}

// Solves the symmetric positive definite system a x = b by Cholesky, in place; the solution is in b.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
    a[j * n + j] = std::sqrt(a[j * n + j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
      a[i * n + j] /= a[j * n + j];
    }
    for (std::size_t k = 0; k < j; ++k) b[j] -= a[j * n + k] * b[k];
    b[j] /= a[j * n + j];
  }
  for (std::size_t j = n; j-- > 0;) {
    for (std::size_t i = j + 1; i < n; ++i) b[j] -= a[i * n + j] * b[i];
    b[j] /= a[j * n + j];
  }
}

}  // namespace

// Quartiles are estimated from the bins; 1.35 is the interquartile range of the standard normal distribution.
std::vector<FourierColumn> find_fourier_columns(const Bins& bins, double gamma) {
  std::vector<FourierColumn> columns;
  for (const ColumnBins& column : bins.columns) {
    FourierColumn& made = columns.emplace_back();
    if (column.is_categorical || column.edges.empty()) continue;
    const std::size_t last = column.edges.size() - 1;
    const double spread = (column.edges[last * 3 / 4] - column.edges[last / 4]) / 1.35;
    made.centre = column.edges[last / 2];
    made.rate = std::sqrt(2 * gamma / static_cast<double>(bins.columns.size())) /
                (spread > 0 && std::isfinite(spread) ? spread : 1);
  }
  return columns;
}

FourierLearner fit_fourier_learner(const Matrix& matrix, std::span<const FourierColumn> columns,
                                   const GradientTask& task, const FourierOptions& options,
                                   double learning_rate, Threads& threads,
                                   comm::Communicator* communicator) {
  FourierLearner learner = {task.output, task.seed, options.has_constant, {}};
  learner.coefficients.resize(options.components + (options.has_constant ? 1 : 0));
  const FourierFeatures features(columns, learner);
  const std::size_t n = features.size();
  const auto greatest = find_greatest(task, matrix.rows, threads, communicator);
  const FixedPointSum gradient(greatest[0], task.rank_rows.total),
      hessian(greatest[1], task.rank_rows.total);
  std::vector<std::int64_t> sums(n * n + n);
  std::mutex mutex;
  for_blocks(matrix, threads,
             [&](std::int64_t begin, std::int64_t end, const double* rows, std::int64_t stride) {
               const Chunk pairs = gradients_of(task, begin, end);
               std::vector<std::int64_t> own(sums.size());
               std::vector<double> row(n);
               for (std::int64_t i = 0; i < end - begin; ++i) {
                 const auto g = static_cast<double>(pairs[i].gradient);
                 const auto h = static_cast<double>(pairs[i].hessian);
                 for (std::size_t k = 0; k < n; ++k) row[k] = features.value(rows + i * stride, k);
                 for (std::size_t k = 0; k < n; ++k) {
                   for (std::size_t j = 0; j <= k; ++j)
                     own[k * n + j] += hessian.units(h * row[k] * row[j]);
                   own[n * n + k] -= gradient.units(g * row[k]);
                 }
               }
               const std::lock_guard lock(mutex);
               for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own[i];
             });
  if (communicator != nullptr) communicator->all_reduce(Buffer::of<std::int64_t>(sums));
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n * n; ++i) a[i] = hessian.value(sums[i]);
  // Jitter for a penalty of 0, because features may be identical.
  for (std::size_t k = 0; k < n; ++k) a[k * n + k] += options.l2 + 1e-9 * (1 + a[k * n + k]);
  for (std::size_t k = 0; k < n; ++k) learner.coefficients[k] = gradient.value(sums[n * n + k]);
  solve(a, learner.coefficients);
  for (double& coefficient : learner.coefficients) coefficient *= learning_rate;
  return learner;
}

void add_fourier_scores(const Matrix& matrix, std::span<const FourierColumn> columns,
                        const FourierLearner& learner, std::span<double> scores, int outputs,
                        Threads& threads) {
  const FourierFeatures features(columns, learner);
  for_blocks(matrix, threads,
             [&](std::int64_t begin, std::int64_t end, const double* rows, std::int64_t stride) {
               for (std::int64_t i = begin; i < end; ++i) {
                 double sum = 0;
                 for (std::size_t k = 0; k < features.size(); ++k)
                   sum += learner.coefficients[k] * features.value(rows + (i - begin) * stride, k);
                 scores[i * outputs + learner.output] += sum;
               }
             });
}

}  // namespace tutti::learn::tree
