#include "tutti/learn/tree/boosting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tutti/core/error.h"
#include "tutti/learn/base/hash.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/dense_rows.h"
#include "tutti/learn/tree/bins/fixed_point_sum.h"
#include "tutti/learn/tree/exact/exact.h"
#include "tutti/learn/tree/grow/external_memory.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/internal/base_scores.h"
#include "tutti/learn/tree/internal/fourier_learner.h"
#include "tutti/learn/tree/internal/gradients.h"
#include "tutti/learn/tree/internal/group_quantiles.h"
#include "tutti/learn/tree/internal/scaled_weights.h"
#include "tutti/learn/tree/internal/target_scales.h"
#include "tutti/learn/tree/sparse/sparse.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kGrain = 16384;  // rows per task
constexpr int kManyRounds = 8;          // from which a column-major copy of the bins is worthwhile

void check(const BoostOptions& options, const ValidationSet* validation) {
  const auto refuse = [](const std::string& what) { throw ConfigError("DDL-9-20", what); };
  if (options.rounds < 1)
    refuse(fmt::format("rounds is {}; it must be at least 1.", options.rounds));
  if (!(options.learning_rate > 0)) refuse("learning_rate must be above 0.");
  if (!(options.subsample > 0 && options.subsample <= 1))
    refuse("subsample must be above 0 and at most 1.");
  if (!(options.columns_per_tree > 0 && options.columns_per_tree <= 1))
    refuse("columns_per_tree must be above 0 and at most 1.");
  if (options.l2 < 0) refuse("l2 must not be negative.");
  if (options.early_stopping_rounds > 0 && validation == nullptr)
    refuse("early stopping needs a validation set.");
  if (!(options.tree_probability >= 0 && options.tree_probability <= 1))
    refuse("tree_probability must be between 0 and 1.");
  if (options.fourier_components < 1 || !(options.fourier_gamma > 0) || options.fourier_l2 < 0)
    refuse(
        "random Fourier features need at least one component, gamma above 0 and l2 of at least 0.");
  if (options.min_max_depth > options.max_depth) refuse("min_max_depth must not exceed max_depth.");
}

// See BoostOptions::max_step. The steps of all outputs of softmax add up.
double default_max_step(const Objective& objective) {
  constexpr double kMaxLogStep = 8;
  const double outputs = objective.outputs();
  switch (objective.link()) {
    case Link::kIdentity: return std::numeric_limits<double>::infinity();
    case Link::kSoftmax: return kMaxLogStep * (outputs - 1) / outputs;
    default: return kMaxLogStep;
  }
}

// Rows with their bins and the current sum of the trees.
struct ScoredRows {
  const Targets& targets;
  Matrix matrix;  // not kCsc if values are read after binning
  RankRows rank_rows;
  BinnedData data;  // without rows for exact splits and sparse data
  std::optional<SparseBinnedData> sparse;
  std::vector<double> scores;
};

struct GrownTree {
  std::vector<GrownNode> nodes;
  std::vector<std::int32_t> tree_index;  // index of each grown node in the tree
  Tree tree;
};

// Leaf of a row with these bins.
template <class BinOf>
std::int32_t leaf_of(const GrownTree& grown, const BinOf& bin_of) {
  std::size_t at = 0;
  while (grown.nodes[at].left >= 0) {
    const GrownNode& node = grown.nodes[at];
    const bool goes_left = node.split.goes_left(bin_of(node.split.column));
    at = static_cast<std::size_t>(goes_left ? node.left : node.right);
  }
  return grown.tree_index[at];
}

class Booster {
 public:
  Booster(const BoostOptions& options, Threads& threads, comm::Communicator* communicator)
      : options_(options),
        objective_(make_objective(options.objective, options.classes, options.alpha,
                                  options.class_curvature)),
        threads_(threads),
        limit_(options.memory_limit),
        communicator_(communicator) {}

  Boosted train(const Matrix& matrix, const Targets& targets, const ValidationSet* validation);

 private:
  void check_targets(const Targets& targets, std::int64_t rows) const;
  BinnedRows prepare_rows(const Matrix& matrix, const Targets& targets);
  BinnedRows bin_validation(const Matrix& matrix, bool is_sparse) const;
  ScoredRows make_rows(const Matrix& matrix, BinnedRows binned, const Targets& targets,
                       std::span<const double> base) const;
  FourierLearner add_fourier_scores(const GradientTask& task,
                                    std::span<const FourierColumn> columns, ScoredRows& rows,
                                    ScoredRows* others);
  GrowOptions grow_options(std::uint64_t seed) const;
  template <class Record>
  Tree add_tree(const GradientTask& task, const GradientScales& scales, ScoredRows& rows,
                ScoredRows* others, Records<Record>& records, Records<Record>& scratch);
  double step_of(double value) const;
  double value_of(const NodeSums& sums, const SumScales& units) const;
  template <class Use>
  void each_leaf(const GrownTree& grown, ScoredRows& rows, const Use& use) const;
  void move_to_quantiles(Tree& tree, std::span<const std::int32_t> leaves, const GradientTask& task,
                         double alpha) const;
  void add_values(const GrownTree& grown, int output, ScoredRows& rows) const;
  template <class Record>
  void add_to_scores(GrownTree& grown, const GradientTask& task, ScoredRows& rows,
                     Records<Record>* records) const;
  double mean_loss(const ScoredRows& rows) const;
  bool is_finished(Boosted& boosted, const ScoredRows* validation, int round) const;

  const BoostOptions& options_;
  std::unique_ptr<Objective> objective_;
  Threads& threads_;
  MemoryLimit limit_;
  comm::Communicator* communicator_;
  Bins bins_;
  std::optional<ExactData> exact_;
  Records<NarrowRecord> narrow_, narrow_scratch_;
  Records<WideRecord> wide_, wide_scratch_;
};

void Booster::check_targets(const Targets& targets, std::int64_t rows) const {
  // Throws for labels and weights that are not finite, negative, or missing.
  find_scales(targets, rows, 0, threads_, communicator_);
  objective_->check(targets.labels);
}

ScoredRows Booster::make_rows(const Matrix& matrix, BinnedRows binned, const Targets& targets,
                              std::span<const double> base) const {
  const bool needs_rows =
      (options_.tree_probability < 1 || options_.exact_splits) && matrix.storage == Storage::kCsc;
  ScoredRows rows = {targets,
                     needs_rows ? to_storage(matrix, Storage::kCsr, threads_) : matrix,
                     find_rank_rows(matrix.rows, communicator_),
                     std::move(binned.data),
                     std::move(binned.sparse),
                     {}};
  rows.scores.resize(static_cast<std::size_t>(matrix.rows) * base.size());
  for (std::size_t i = 0; i < rows.scores.size(); ++i) rows.scores[i] = base[i % base.size()];
  return rows;
}

GrowOptions Booster::grow_options(std::uint64_t seed) const {
  GrowOptions grow;
  grow.max_leaves = options_.max_leaves;
  grow.max_depth = options_.max_depth;
  if (options_.min_max_depth > 0) {
    const auto range = static_cast<std::uint64_t>(options_.max_depth - options_.min_max_depth + 1);
    grow.max_depth = options_.min_max_depth + static_cast<int>(below(mix(seed, 1), range));
  }
  grow.min_gain = options_.min_gain;
  grow.columns_per_node = options_.columns_per_node;
  grow.seed = seed;
  grow.columns.resize(bins_.columns.size());
  std::iota(grow.columns.begin(), grow.columns.end(), 0);
  const auto wanted = static_cast<std::size_t>(std::max(
      1.0, std::round(options_.columns_per_tree * static_cast<double>(bins_.columns.size()))));
  if (wanted >= bins_.columns.size()) return grow;
  for (std::size_t i = 0; i < wanted; ++i)
    std::swap(grow.columns[i], grow.columns[i + below(mix(seed, 2 + i), grow.columns.size() - i)]);
  grow.columns.resize(wanted);
  std::sort(grow.columns.begin(), grow.columns.end());
  return grow;
}

double Booster::step_of(double value) const {
  const double limit = options_.max_step > 0 ? options_.max_step : default_max_step(*objective_);
  return std::clamp(value, -limit, limit) * options_.learning_rate;
}

double Booster::value_of(const NodeSums& sums, const SumScales& units) const {
  const double hessian = static_cast<double>(sums.hessian) * units.hessian + options_.l2;
  if (hessian <= 0) return 0;
  return step_of(-static_cast<double>(sums.gradient) * units.gradient / hessian);
}

// Calls use(row, leaf) for rows without a record: they descend the tree by their bins or, with exact splits, by their
// values.
template <class Use>
void Booster::each_leaf(const GrownTree& grown, ScoredRows& rows, const Use& use) const {
  if (exact_) {
    threads_.for_range(rows.matrix.rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> buffer;
      std::int64_t stride = 0;
      const double* values = dense_rows(rows.matrix, begin, end, buffer, stride);
      const auto columns = static_cast<std::size_t>(rows.matrix.columns);
      for (std::int64_t row = begin; row < end; ++row)
        use(row, grown.tree.leaf_of({values + (row - begin) * stride, columns}));
    });
    return;
  }
  if (rows.sparse) {
    threads_.for_range(rows.sparse->rows(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        use(row, leaf_of(grown, [&](int column) {
              return rows.sparse->at(static_cast<std::uint32_t>(row), column);
            }));
    });
    return;
  }
  threads_.for_range(rows.data.rows(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    rows.data.prefetch(end, std::min(rows.data.rows(), end + kGrain));
    for (std::int64_t row = begin; row < end; ++row)
      use(row, leaf_of(grown, [&](int column) { return rows.data.at(row, column); }));
    rows.data.release(begin, end);
  });
}

void Booster::add_values(const GrownTree& grown, int output, ScoredRows& rows) const {
  const auto outputs = static_cast<std::size_t>(objective_->outputs());
  each_leaf(grown, rows, [&](std::int64_t row, std::int32_t leaf) {
    rows.scores[static_cast<std::size_t>(row) * outputs + static_cast<std::size_t>(output)] +=
        grown.tree.values[leaf];
  });
}

// `leaves` has the leaf of each row, including rows that the tree has not sampled.
void Booster::move_to_quantiles(Tree& tree, std::span<const std::int32_t> leaves,
                                const GradientTask& task, double alpha) const {
  const auto quantiles =
      group_quantiles({leaves, task.targets.labels, task.scores, task.targets.weights,
                       task.max_weight, task.has_integer_weights, task.rank_rows.total},
                      static_cast<int>(tree.nodes.size()), alpha, threads_, communicator_);
  for (std::size_t leaf = 0; leaf < quantiles.size(); ++leaf)
    if (quantiles[leaf].exists) tree.values[leaf] = step_of(quantiles[leaf].value);
}

// Sets leaf values to quantiles first if the objective requires it. `records` null: not in memory.
template <class Record>
void Booster::add_to_scores(GrownTree& grown, const GradientTask& task, ScoredRows& rows,
                            Records<Record>* records) const {
  const auto outputs = static_cast<std::size_t>(objective_->outputs());
  const auto each_own = [&](const auto& use) {
    if (records == nullptr || records->size != rows.matrix.rows) return each_leaf(grown, rows, use);
    threads_.run(static_cast<std::int64_t>(grown.nodes.size()), [&](std::int64_t index) {
      const GrownNode& node = grown.nodes[index];
      if (node.left >= 0) return;
      const std::int32_t leaf = grown.tree_index[index];
      for (std::int64_t i = node.begin; i < node.end; ++i) use(records->data()[i].row, leaf);
    });
  };
  const auto add = [&](std::int64_t row, std::int32_t leaf) {
    rows.scores[static_cast<std::size_t>(row) * outputs + static_cast<std::size_t>(task.output)] +=
        grown.tree.values[leaf];
  };
  const auto alpha = objective_->leaf_quantile();
  if (!alpha) return each_own(add);
  std::vector<std::int32_t> leaves(static_cast<std::size_t>(rows.matrix.rows));
  each_own([&](std::int64_t row, std::int32_t leaf) { leaves[row] = leaf; });
  move_to_quantiles(grown.tree, leaves, task, *alpha);
  for (std::size_t row = 0; row < leaves.size(); ++row)
    add(static_cast<std::int64_t>(row), leaves[row]);
}

template <class Record>
Tree Booster::add_tree(const GradientTask& task, const GradientScales& scales, ScoredRows& rows,
                       ScoredRows* others, Records<Record>& records, Records<Record>& scratch) {
  const RecordSource<Record> source = [&](std::int64_t begin, std::int64_t end, Record* target) {
    return make_records(task, scales, begin, end, target);
  };
  SplitRules rules;
  rules.l2 = options_.l2;
  rules.min_child_weight = options_.min_child_weight;
  rules.min_samples_leaf = options_.min_samples_leaf;
  rules.scales = scales.units;
  const GrowOptions options = grow_options(task.seed);
  const HistogramShape shape = {scales.is_narrow ? Kind::kNarrow : Kind::kWide,
                                static_cast<int>(rows.matrix.columns), 0};
  const SplitSearch search(bins_, shape, rules);
  GrownTree grown;
  if (limit_.exists()) {
    grown.nodes = grow_external_memory<Record>(
        {rows.data, search, options, source, limit_.left(), communicator_}, threads_);
  } else {
    fill(source, rows.matrix.rows, threads_, records);
    scratch.resize(records.size);
    if (exact_)
      grown.nodes = grow_exact<Record>({*exact_, search, options, records, scratch}, threads_);
    else if (rows.sparse)
      grown.nodes = grow_sparse<Record>(
          {*rows.sparse, search, options, records, scratch, communicator_}, threads_);
    else
      grown.nodes =
          grow<Record>({rows.data, search, options, records, scratch, communicator_}, threads_);
  }
  grown.tree = to_tree(grown.nodes, bins_, rules, grown.tree_index);
  Tree& tree = grown.tree;
  tree.values.resize(grown.nodes.size());
  for (std::size_t i = 0; i < grown.nodes.size(); ++i)
    tree.values[grown.tree_index[i]] = value_of(grown.nodes[i].sums, scales.units);
  add_to_scores(grown, task, rows, limit_.exists() ? nullptr : &records);
  if (others != nullptr) add_values(grown, task.output, *others);
  return std::move(grown.tree);
}

FourierLearner Booster::add_fourier_scores(const GradientTask& task,
                                           std::span<const FourierColumn> columns, ScoredRows& rows,
                                           ScoredRows* others) {
  const FourierOptions options = {options_.fourier_components, options_.fourier_gamma,
                                  options_.fourier_l2, options_.fourier_constant};
  FourierLearner learner = fit_fourier_learner(rows.matrix, columns, task, options,
                                               options_.learning_rate, threads_, communicator_);
  for (ScoredRows* scored : {&rows, others})
    if (scored != nullptr)
      tree::add_fourier_scores(scored->matrix, columns, learner, scored->scores,
                               objective_->outputs(), threads_);
  return learner;
}

double Booster::mean_loss(const ScoredRows& rows) const {
  const auto outputs = static_cast<std::size_t>(objective_->outputs());
  const auto size = rows.targets.labels.size();
  double greatest[] = {1e-300, 1e-300};
  std::vector<double> losses(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double weight = rows.targets.weights.empty() ? 1 : rows.targets.weights[i];
    losses[i] = weight * objective_->loss(rows.targets.labels[i],
                                          {rows.scores.data() + i * outputs, outputs});
    greatest[0] = std::max(greatest[0], std::abs(losses[i]));
    greatest[1] = std::max(greatest[1], weight);
  }
  if (communicator_ != nullptr)
    communicator_->all_reduce(Buffer::of<double>(greatest), ReduceOp::kMax);
  const FixedPointSum loss(greatest[0], rows.rank_rows.total),
      weight(greatest[1], rows.rank_rows.total);
  std::int64_t sums[] = {0, 0};
  for (std::size_t i = 0; i < size; ++i) {
    sums[0] += loss.units(losses[i]);
    sums[1] += weight.units(rows.targets.weights.empty() ? 1 : rows.targets.weights[i]);
  }
  if (communicator_ != nullptr) communicator_->all_reduce(Buffer::of<std::int64_t>(sums));
  return loss.value(sums[0]) / weight.value(sums[1]);
}

// Records the validation loss. Returns true if it has not improved for too long, or if the caller stops.
bool Booster::is_finished(Boosted& boosted, const ScoredRows* validation, int round) const {
  double loss = std::numeric_limits<double>::quiet_NaN();
  bool is_over = false;
  if (validation != nullptr) {
    loss = mean_loss(*validation);
    auto& losses = boosted.validation_losses;
    losses.push_back(loss);
    const auto best = static_cast<std::size_t>(boosted.best_round);
    if (best == 0 || loss < losses[best - 1] - options_.early_stopping_tolerance)
      boosted.best_round = round + 1;
    is_over = options_.early_stopping_rounds > 0 &&
              round + 1 - boosted.best_round >= options_.early_stopping_rounds;
  }
  return (options_.progress && !options_.progress(round, loss)) || is_over;
}

// Bins the rows, or prepares them for exact splits.
BinnedRows Booster::prepare_rows(const Matrix& matrix, const Targets& targets) {
  BinOptions bin_options = options_.bins;
  bin_options.weights = targets.weights;
  BinnedRows binned = {{}, BinnedData(0, static_cast<int>(matrix.columns))};
  if (options_.exact_splits) {
    check_exact(options_.bins, options_.memory_limit, communicator_);
    exact_.emplace(matrix, threads_);
    bins_.columns.resize(matrix.columns);
    if (options_.tree_probability < 1) bins_ = find_bins(matrix, bin_options, threads_);
  } else {
    binned = find_and_bin(matrix, bin_options, limit_, threads_, communicator_);
    bins_ = std::move(binned.bins);
    const bool pays = options_.rounds >= kManyRounds && binned.data.rows() > 0;
    if (pays && options_.memory_limit == 0) binned.data.add_columns(threads_);
  }
  return binned;
}

BinnedRows Booster::bin_validation(const Matrix& matrix, bool is_sparse) const {
  BinnedRows binned = {{}, BinnedData(0, static_cast<int>(matrix.columns))};
  if (is_sparse && matrix.is_sparse())
    binned.sparse.emplace(matrix, bins_, threads_, nullptr);
  else if (!exact_)
    binned.data = bin(matrix, bins_, threads_);
  return binned;
}

Boosted Booster::train(const Matrix& matrix, const Targets& targets,
                       const ValidationSet* validation) {
  check_targets(targets, matrix.rows);
  if (limit_.exists() && objective_->leaf_quantile())
    limit_.check(
        matrix.rows * (kQuantileBytes + std::int64_t{sizeof(double) + sizeof(std::int32_t)}),
        "quantiles of the rows", communicator_);
  BinnedRows binned = prepare_rows(matrix, targets);
  const bool is_sparse = binned.sparse.has_value();
  Boosted boosted;
  Model& model = boosted.model;
  model.columns = static_cast<int>(matrix.columns);
  model.outputs = objective_->outputs();
  model.link = objective_->link();
  model.base = options_.base_score
                   ? std::vector<double>(objective_->outputs(), *options_.base_score)
                   : base_scores(*objective_, targets, threads_, communicator_);
  ScoredRows rows = make_rows(matrix, std::move(binned), targets, model.base);
  std::optional<ScoredRows> others;
  if (validation != nullptr) {
    if (validation->matrix.columns != matrix.columns)
      throw ConfigError("DDL-9-21",
                        fmt::format("the validation set has {} columns, the training set has {}.",
                                    validation->matrix.columns, matrix.columns));
    check_targets(validation->targets, validation->matrix.rows);
    others.emplace(make_rows(validation->matrix, bin_validation(validation->matrix, is_sparse),
                             validation->targets, model.base));
  }
  const TargetScales weights = find_scales(targets, matrix.rows, 0, threads_, communicator_);
  GradientTask task = {*objective_,
                       targets,
                       rows.scores,
                       0,
                       rows.rank_rows,
                       weights.max_weight,
                       weights.weight_unit == 1,
                       options_.is_exact,
                       options_.subsample,
                       0};
  if (options_.tree_probability < 1)
    model.fourier_columns = find_fourier_columns(bins_, options_.fourier_gamma);
  std::vector<double> before;  // all outputs of a round use the scores before it
  std::vector<std::pair<std::size_t, std::size_t>>
      made;  // number of trees and Fourier learners after each round
  ScoredRows* const watched = others ? &*others : nullptr;
  for (int round = 0; round < options_.rounds; ++round) {
    if (model.outputs > 1) {
      before = rows.scores;
      task.scores = before;
    }
    const bool adds_trees = unit(mix(mix(options_.seed, 7), static_cast<std::uint64_t>(round))) <
                            options_.tree_probability;
    for (int k = 0; k < model.outputs; ++k) {
      task.output = k;
      task.seed = mix(options_.seed, static_cast<std::uint64_t>(round) *
                                             static_cast<std::uint64_t>(model.outputs) +
                                         static_cast<std::uint64_t>(k));
      if (!adds_trees) {
        model.fourier_learners.push_back(
            add_fourier_scores(task, model.fourier_columns, rows, watched));
        continue;
      }
      const GradientScales scales = find_units(task, threads_, communicator_);
      model.trees.push_back(scales.is_narrow
                                ? add_tree(task, scales, rows, watched, narrow_, narrow_scratch_)
                                : add_tree(task, scales, rows, watched, wide_, wide_scratch_));
      model.tree_output.push_back(k);
    }
    made.emplace_back(model.trees.size(), model.fourier_learners.size());
    if (is_finished(boosted, watched, round)) break;
  }
  if (options_.early_stopping_rounds == 0) boosted.best_round = static_cast<int>(made.size());
  const auto [trees, learners] = made[static_cast<std::size_t>(boosted.best_round) - 1];
  model.trees.resize(trees);
  model.tree_output.resize(trees);
  model.fourier_learners.resize(learners);
  return boosted;
}

}  // namespace

Boosted train_boosting(const Matrix& matrix, const Targets& targets, const BoostOptions& options,
                       Threads& threads, const ValidationSet* validation,
                       comm::Communicator* communicator) {
  check(options, validation);
  const ScaledWeights weights(targets, communicator);
  BoostOptions scaled = options;
  for (double* limit : {&scaled.l2, &scaled.min_child_weight, &scaled.min_gain, &scaled.fourier_l2})
    *limit *= weights.factor();
  if (validation == nullptr)
    return Booster(scaled, threads, communicator).train(matrix, weights.targets(), nullptr);
  const ScaledWeights validation_weights(validation->targets, communicator);
  const ValidationSet scaled_validation = {validation->matrix, validation_weights.targets()};
  return Booster(scaled, threads, communicator)
      .train(matrix, weights.targets(), &scaled_validation);
}

}  // namespace tutti::learn::tree
