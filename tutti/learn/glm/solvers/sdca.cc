#include "tutti/learn/glm/solvers/sdca.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/design/sparse_design.h"
#include "tutti/learn/glm/problem/conjugate.h"
#include "tutti/learn/glm/problem/dual_step.h"

namespace tutti::learn {
namespace {

// Rows are shuffled in buckets, so their memory is read in order. Small data stays in the cache: single rows converge
// in fewer epochs.
constexpr std::int64_t kBucketRows = 64;
constexpr std::int64_t kCachedEntries = 1 << 20;
constexpr std::int64_t kRowsPerReplica = 50000;
constexpr std::int64_t kMaxReplicas = 4;
constexpr int kRoundsPerEpoch = 4;
// Minimum duration of a local phase, in exchanges between ranks.
constexpr double kExchangesPerPhase = 4;

template <class T>
class Sdca {
 public:
  Sdca(Problem<T>& problem, Tracker& tracker)
      : problem_(problem),
        tracker_(tracker),
        design_(problem.design),
        dense_(dynamic_cast<DenseDesign<T>*>(&problem.design)),
        sparse_(dynamic_cast<SparseDesign<T>*>(&problem.design)),
        columns_(design_.columns()),
        duals_(design_.rows()),
        margins_(design_.rows()),
        weights_(columns_ + 1) {}

  Solution run();

 private:
  void start();
  void run_epochs();
  void run_epoch(std::mt19937_64& random);
  void run_round(std::int64_t end, int round, int rounds);
  void run_bucket(std::int64_t begin, std::int64_t end, std::vector<T>& weights);
  void exchange();
  void measure();
  void keep_if_best(double objective, double intercept);
  double best_shift() const;
  T product(std::int64_t row, const T* vector) const {
    if (sparse_ != nullptr) return sparse_dot(sparse_->rows_view(), row, vector);
    return static_cast<T>(dot(dense_->row(row), vector, columns_));
  }
  void add(std::int64_t row, T factor, T* target) const {
    if (sparse_ != nullptr) return add_sparse_row(sparse_->rows_view(), row, factor, target);
    add_scaled(factor, dense_->row(row), columns_, target);
  }

  Problem<T>& problem_;
  Tracker& tracker_;
  DesignMatrix<T>& design_;
  DenseDesign<T>* dense_;
  SparseDesign<T>* sparse_;
  std::int64_t columns_;
  std::vector<T> duals_, margins_, squares_;
  std::vector<T> weights_;  // the intercept last
  std::vector<std::vector<T>> replicas_;
  std::int64_t bucket_rows_ = kBucketRows;
  std::vector<std::int64_t> bucket_order_;  // first rows of the buckets, shuffled for this epoch
  std::vector<T> exchanged_;                // weights at the last exchange between ranks
  int inner_rounds_ = 1, rounds_since_ = 0;
  double exchange_seconds_ = 0;
  Stopwatch watch_;
  double ridge_ = 0, intercept_ridge_ = 0, centre_ = 0, aggregation_ = 1;
  bool has_intercept_ = false, is_free_ = false;
  // Best iterate so far: the primal objective of the iterates oscillates.
  std::vector<T> best_weights_;
  double objective_ = std::numeric_limits<double>::infinity(), gap_ = 0;
  double bound_ = -std::numeric_limits<
      double>::infinity();  // of the objective, without an unpenalised intercept
};

template <class T>
void Sdca<T>::start() {
  const GlmOptions& options = problem_.options;
  has_intercept_ = options.fit_intercept;
  is_free_ = has_intercept_ && !options.penalise_intercept;
  ridge_ = options.l2;
  squares_.resize(design_.rows());
  design_.for_data_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (dense_ != nullptr) {
        squares_[r] = static_cast<T>(dot(dense_->row(r), dense_->row(r), columns_));
        continue;
      }
      const SparseRows<T>& rows = sparse_->rows_view();
      const std::int64_t count = rows.offsets[r + 1] - rows.offsets[r];
      const T* values = rows.values + rows.offsets[r];
      squares_[r] = rows.values != nullptr ? static_cast<T>(dot(values, values, count))
                    : rows.has_unit_norm   ? T(count > 0)
                                           : static_cast<T>(count);
    }
  });
  const double mean_square = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    return std::accumulate(squares_.begin() + begin, squares_.begin() + end, 0.0);
  }) / static_cast<double>(std::max<std::int64_t>(1, design_.total_rows()));
  const double value = options.intercept_value;
  intercept_ridge_ = is_free_ ? ridge_ / std::max(mean_square, 1e-12) : ridge_ / (value * value);
  const std::int64_t count =
      std::clamp<std::int64_t>(design_.rows() / kRowsPerReplica, 1, kMaxReplicas);
  replicas_.resize(count);
  aggregation_ =
      static_cast<double>(count) * (design_.ranks() != nullptr ? design_.ranks()->size() : 1);
  inner_rounds_ = std::max(1, options.inner_rounds);
  const std::int64_t entries = sparse_ != nullptr && !design_.is_streamed()
                                   ? sparse_->rows_view().offsets[design_.rows()]
                                   : design_.rows() * columns_;
  if (entries <= kCachedEntries) bucket_rows_ = 1;
}

template <class T>
void Sdca<T>::run_bucket(std::int64_t begin, std::int64_t end, std::vector<T>& weights) {
  const Loss loss = problem_.options.loss;
  const double intercept_lift = has_intercept_ ? 1 / intercept_ridge_ : 0;
  for (std::int64_t r = begin; r < end; ++r) {
    const double margin = static_cast<double>(product(r, weights.data()) + weights[columns_]);
    const double lift = aggregation_ * (static_cast<double>(squares_[r]) / ridge_ + intercept_lift);
    if (!(lift > 0)) continue;
    const double weight = problem_.weights.empty() ? 1 : static_cast<double>(problem_.weights[r]);
    const double before = static_cast<double>(duals_[r]);
    const T after =
        static_cast<T>(dual_step(loss, before, margin, problem_.labels[r], weight, lift));
    const double change = static_cast<double>(after) - before;
    if (change == 0) continue;
    duals_[r] = after;
    add(r, static_cast<T>(aggregation_ * change / ridge_), weights.data());
    weights[columns_] += static_cast<T>(aggregation_ * change * intercept_lift);
  }
}

// One round: each replica processes its part of the shuffled buckets, then the changes of all replicas of this rank are
// averaged.
template <class T>
void Sdca<T>::run_round(std::int64_t end, int round, int rounds) {
  const std::int64_t count = static_cast<std::int64_t>(replicas_.size());
  const std::int64_t buckets = static_cast<std::int64_t>(bucket_order_.size());
  design_.threads().run(count, [&](std::int64_t k) {
    replicas_[k] = weights_;
    const std::int64_t pieces = count * rounds, piece = round * count + k;
    for (std::int64_t i = buckets * piece / pieces; i < buckets * (piece + 1) / pieces; ++i)
      run_bucket(bucket_order_[i], std::min(end, bucket_order_[i] + bucket_rows_), replicas_[k]);
  });
  design_.threads().for_range(columns_ + 1, 16384, [&](std::int64_t begin, std::int64_t last) {
    for (std::int64_t j = begin; j < last; ++j) {
      double change = 0;
      for (const auto& replica : replicas_)
        change += static_cast<double>(replica[j]) - static_cast<double>(weights_[j]);
      weights_[j] =
          static_cast<T>(static_cast<double>(weights_[j]) + change / static_cast<double>(count));
    }
  });
}

// Averages the changes of all ranks since the last exchange. The durations of the exchange and of the preceding rounds
// are part of the message, so all ranks choose the same number of rounds until the next exchange: enough that exchanges
// take at most a fifth of the time.
template <class T>
void Sdca<T>::exchange() {
  if (design_.ranks() == nullptr) return;
  const double computing = watch_.seconds();
  std::vector<double> changes(columns_ + 3);
  for (std::int64_t j = 0; j <= columns_; ++j)
    changes[j] = static_cast<double>(weights_[j]) - static_cast<double>(exchanged_[j]);
  changes[columns_ + 1] = computing / rounds_since_;
  changes[columns_ + 2] = exchange_seconds_;
  watch_ = Stopwatch();
  design_.ranks()->all_reduce(Buffer::of(std::span<double>(changes)));
  const double ranks = design_.ranks()->size();
  for (std::int64_t j = 0; j <= columns_; ++j)
    weights_[j] = static_cast<T>(static_cast<double>(exchanged_[j]) + changes[j] / ranks);
  exchanged_ = weights_;
  rounds_since_ = 0;
  if (problem_.options.inner_rounds == 0 && changes[columns_ + 1] > 0)
    inner_rounds_ = static_cast<int>(
        std::clamp(std::ceil(kExchangesPerPhase * changes[columns_ + 2] / changes[columns_ + 1]),
                   1.0, static_cast<double>(kRoundsPerEpoch)));
  exchange_seconds_ = watch_.seconds();
  watch_ = Stopwatch();
}

template <class T>
void Sdca<T>::run_epoch(std::mt19937_64& random) {
  // Ranks have different numbers of chunks, so they exchange after all of them.
  const int rounds = design_.is_streamed() ? 1 : kRoundsPerEpoch;
  design_.for_ranges([&](std::int64_t begin, std::int64_t end) {
    bucket_order_.clear();
    for (std::int64_t row = begin; row < end; row += bucket_rows_) bucket_order_.push_back(row);
    for (std::size_t i = bucket_order_.size(); i > 1; --i)
      std::swap(bucket_order_[i - 1], bucket_order_[random() % i]);
    for (int round = 0; round < rounds; ++round) {
      run_round(end, round, rounds);
      ++rounds_since_;
      if (!design_.is_streamed() && rounds_since_ >= inner_rounds_) exchange();
    }
  });
  if (design_.is_streamed()) rounds_since_ = std::max(1, rounds_since_);
  if (rounds_since_ > 0) exchange();
  tracker_.add_passes(1);
}

// Computes objective and gap, with weights recomputed from the dual variables.
template <class T>
void Sdca<T>::measure() {
  design_.transpose_multiply(duals_.data(), weights_.data());
  double squares = 0;
  for (std::int64_t j = 0; j < columns_; ++j) {
    weights_[j] = static_cast<T>(static_cast<double>(weights_[j]) / ridge_);
    squares += static_cast<double>(weights_[j]) * static_cast<double>(weights_[j]);
  }
  const double dual_sum = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    return std::accumulate(duals_.begin() + begin, duals_.begin() + end, 0.0);
  });
  const double intercept = has_intercept_ ? centre_ + dual_sum / intercept_ridge_ : 0;
  weights_[columns_] = static_cast<T>(intercept);
  design_.multiply(weights_.data(), weights_[columns_], margins_.data());
  tracker_.add_passes(1);
  const Loss loss = problem_.options.loss;
  std::vector<T> first(design_.rows()), second(design_.rows());
  double primal = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    return loss_terms(loss, margins_.data() + begin, problem_.labels.data() + begin,
                      problem_.weights_at(begin), end - begin, first.data() + begin,
                      second.data() + begin);
  });
  double dual = -design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r)
      sum += conjugate(loss, -static_cast<double>(duals_[r]), problem_.labels[r],
                       problem_.weights.empty() ? 1.0 : static_cast<double>(problem_.weights[r]));
    return sum;
  });
  primal += ridge_ * squares / 2;
  dual -= ridge_ * squares / 2;
  if (has_intercept_) dual -= dual_sum * dual_sum / (2 * intercept_ridge_) + centre_ * dual_sum;
  if (has_intercept_ && !is_free_) primal += intercept_ridge_ * intercept * intercept / 2;
  keep_if_best(primal, intercept);
  if (!is_free_) {
    bound_ = std::max(bound_, std::min(primal, dual));
    gap_ = objective_ - bound_;
    return;
  }
  // While an unpenalised intercept still moves, the cost of moving it is not yet part of the primal value.
  gap_ = std::abs(primal - dual) + dual_sum * dual_sum / intercept_ridge_;
  if (loss != Loss::kHinge || design_.ranks() != nullptr) return;
  const double shift = best_shift();
  for (T& margin : margins_) margin += static_cast<T>(shift);
  const double shifted = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    return loss_terms(loss, margins_.data() + begin, problem_.labels.data() + begin,
                      problem_.weights_at(begin), end - begin, first.data() + begin,
                      second.data() + begin);
  });
  keep_if_best(shifted + ridge_ * squares / 2, intercept + shift);
}

template <class T>
void Sdca<T>::keep_if_best(double objective, double intercept) {
  if (!(objective < objective_)) return;
  objective_ = objective;
  best_weights_ = weights_;
  best_weights_[columns_] = static_cast<T>(intercept);
}

// Change of the intercept that minimises the hinge losses of the rows: the slope of their sum rises by the weight of a
// row where its margin reaches its label.
template <class T>
double Sdca<T>::best_shift() const {
  std::vector<std::pair<double, double>> rises;
  double slope = 0;
  for (std::size_t r = 0; r < margins_.size(); ++r) {
    const double weight = problem_.weights.empty() ? 1 : static_cast<double>(problem_.weights[r]);
    rises.emplace_back(static_cast<double>(problem_.labels[r] - margins_[r]), weight);
    if (problem_.labels[r] > 0) slope -= weight;
  }
  std::sort(rises.begin(), rises.end());
  for (const auto& [shift, weight] : rises)
    if ((slope += weight) >= 0) return shift;
  return 0;
}

template <class T>
void Sdca<T>::run_epochs() {
  start();
  measure();
  tracker_.set_scale(objective_);
  std::mt19937_64 random(problem_.options.seed + 1);
  int until_measured = 1;
  for (int epoch = 1; epoch <= problem_.options.max_iterations; ++epoch) {
    if (is_free_) {  // the dual variables stay, so the intercept moves on by its proximal term
      const double intercept = static_cast<double>(weights_[columns_]);
      weights_[columns_] = static_cast<T>(2 * intercept - centre_);
      centre_ = intercept;
    }
    exchanged_ = weights_;
    rounds_since_ = 0;
    watch_ = Stopwatch();
    run_epoch(random);
    if (--until_measured == 0 || epoch == problem_.options.max_iterations) {
      measure();
      if (!tracker_.report(objective_, gap_, epoch) ||
          tracker_.is_within_tolerance(objective_, gap_))
        break;
      until_measured = epoch < 8 ? 1 : epoch / 8;
    }
  }
}

template <class T>
Solution Sdca<T>::run() {
  tracker_.run([&] { run_epochs(); });
  if (best_weights_.empty()) {  // stopped before the first measurement
    best_weights_ = weights_;
    objective_ = 0;
  }
  Solution solution = tracker_.found(best_weights_, objective_, gap_);
  if (!has_intercept_) solution.intercept = 0;
  solution.inner_rounds = inner_rounds_;
  return solution;
}

}  // namespace

template <class T>
Solution solve_sdca(Problem<T>& problem, Tracker& tracker) {
  return Sdca<T>(problem, tracker).run();
}

template Solution solve_sdca(Problem<float>&, Tracker&);
template Solution solve_sdca(Problem<double>&, Tracker&);

}  // namespace tutti::learn
