#include "tutti/learn/tree/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>
#include <thread>

#include "tutti/core/error.h"
#include "tutti/learn/base/hash.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/exact/exact.h"
#include "tutti/learn/tree/grow/external_memory.h"
#include "tutti/learn/tree/grow/grower.h"
#include "tutti/learn/tree/internal/scaled_weights.h"
#include "tutti/learn/tree/internal/target_scales.h"
#include "tutti/learn/tree/sparse/sparse.h"

namespace tutti::learn::tree {
namespace {

// Upper bound of the copies of a row in a bootstrap sample; the fixed-point units leave room for it.
int most_copies(double mean) {
  return static_cast<int>(mean + 10 * std::sqrt(mean)) + 16;
}

// Poisson-distributed number from one uniform random number.
int poisson(double mean, std::uint64_t random) {
  double left = unit(random), probability = std::exp(-mean);
  int count = 0;
  while (left >= probability && count < most_copies(mean)) {
    left -= probability;
    probability *= mean / ++count;
  }
  return count;
}

// Far beyond any sample that is drawn.
RowUse row_use(const ForestOptions& options) {
  if (!options.bootstrap) return {};
  return {static_cast<double>(most_copies(options.samples)),
          options.samples + 10 * std::sqrt(options.samples)};
}

struct Problem {
  std::int64_t rows;
  int columns;
  // Exactly one of the three is set.
  const BinnedData* data;
  const SparseBinnedData* sparse;
  const ExactData* exact;
  const Bins& bins;
  const Targets& targets;
  const ForestOptions& options;
  const TargetScales& scales;
  const MemoryLimit& limit;
  comm::Communicator* communicator;
  bool counts_rows;  // the number of rows of a side does not follow from its weight
};

NarrowRecord make_record(const Problem&, std::uint32_t row, double label, double weight,
                         const NarrowRecord*) {
  return {row, static_cast<std::int16_t>(label * weight), static_cast<std::uint16_t>(weight)};
}

// Label times rounded weight. With integer weights, equal labels have equal ratios to the weight.
std::int64_t label_units(const TargetScales& scales, double label, std::uint32_t weight) {
  const double units = (label - scales.label_offset) / scales.label_unit;
  if (scales.weight_unit == 1) return std::llround(units) * std::int64_t{weight};
  return std::llround(units * (weight * scales.weight_unit));
}

WideRecord make_record(const Problem& problem, std::uint32_t row, double label, double weight,
                       const WideRecord*) {
  const TargetScales& scales = problem.scales;
  const auto hessian = static_cast<std::uint32_t>(std::lround(weight / scales.weight_unit));
  if (problem.options.classes == 2) return {row, hessian, label > 0 ? std::int64_t{hessian} : 0};
  if (problem.options.classes > 0) return {row, hessian, static_cast<std::int64_t>(label)};
  return {row, hessian, label_units(scales, label, hessian)};
}

template <class Record>
std::int64_t make_records(const Problem& problem, std::uint64_t tree_seed, std::int64_t begin,
                          std::int64_t end, Record* target) {
  Record* const first = target;
  for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
    double weight = problem.targets.weights.empty() ? 1 : problem.targets.weights[row];
    if (problem.options.bootstrap) {
      const auto global = static_cast<std::uint64_t>(problem.scales.first_row) + row;
      weight *= poisson(problem.options.samples, mix(tree_seed, global));
    }
    if (weight <= 0) continue;
    *target++ = make_record(problem, static_cast<std::uint32_t>(row), problem.targets.labels[row],
                            weight, static_cast<const Record*>(nullptr));
  }
  return target - first;
}

void set_values(const std::vector<GrownNode>& grown, const std::vector<std::int32_t>& tree_index,
                const ForestOptions& options, const TargetScales& scales, Tree& tree) {
  tree.outputs = std::max(1, options.classes);
  const auto outputs = static_cast<std::size_t>(tree.outputs);
  tree.values.resize(tree.nodes.size() * outputs);
  for (std::size_t i = 0; i < grown.size(); ++i) {
    double* values = tree.values.data() + static_cast<std::size_t>(tree_index[i]) * outputs;
    const NodeSums& sums = grown[i].sums;
    const auto hessian = static_cast<double>(sums.hessian);
    const auto gradient = static_cast<double>(sums.gradient);
    if (options.classes == 0) {
      values[0] = scales.label_offset +
                  (hessian > 0 ? gradient * scales.label_unit / (hessian * scales.weight_unit) : 0);
    } else if (sums.classes.empty()) {
      values[1] = hessian > 0 ? gradient / hessian : 0;
      values[0] = 1 - values[1];
    } else {
      for (std::size_t k = 0; k < outputs; ++k)
        values[k] = hessian > 0 ? static_cast<double>(sums.classes[k]) / hessian : 0;
    }
  }
}

HistogramShape shape_of(const Problem& problem) {
  const ForestOptions& options = problem.options;
  const Kind kind = options.classes > 2        ? Kind::kClasses
                    : problem.scales.is_narrow ? Kind::kNarrow
                                               : Kind::kWide;
  return {kind, problem.columns, options.classes, problem.counts_rows};
}

template <class Record>
Tree grow_one(const Problem& problem, int index, Records<Record>& records, Records<Record>& scratch,
              Threads& threads) {
  const ForestOptions& options = problem.options;
  const std::uint64_t seed = mix(options.seed, static_cast<std::uint64_t>(index));
  const RecordSource<Record> source = [&](std::int64_t begin, std::int64_t end, Record* target) {
    return make_records(problem, seed, begin, end, target);
  };
  SplitRules rules;
  rules.criterion = options.uses_entropy ? Criterion::kEntropy : Criterion::kSquares;
  rules.min_child_weight = options.min_weight_leaf;
  rules.min_samples_leaf = options.min_samples_leaf;
  rules.random_thresholds = options.random_thresholds;
  rules.scales = {options.classes == 0 ? problem.scales.label_unit : problem.scales.weight_unit,
                  problem.scales.weight_unit};
  GrowOptions grow_options;
  grow_options.max_depth = options.max_depth;
  grow_options.max_leaves = options.max_leaves;
  grow_options.min_samples_split = options.min_samples_split;
  grow_options.min_gain = options.min_gain;
  grow_options.is_classification = options.classes > 0;
  grow_options.is_regression = options.classes == 0;
  grow_options.columns_per_node =
      options.columns_per_node < problem.columns ? options.columns_per_node : 0;
  grow_options.columns.resize(problem.columns);
  std::iota(grow_options.columns.begin(), grow_options.columns.end(), 0);
  grow_options.seed = seed;
  grow_options.keeps_last_rows = !problem.targets.weights.empty() || options.bootstrap;
  const SplitSearch search(problem.bins, shape_of(problem), rules);
  std::vector<GrownNode> grown;
  if (problem.limit.exists()) {
    grown = grow_external_memory<Record>(
        {*problem.data, search, grow_options, source, problem.limit.left(), problem.communicator},
        threads);
  } else {
    if (problem.data == nullptr) {
      fill(source, problem.rows, threads, records);
      scratch.resize(records.size);
    }
    if (problem.exact != nullptr) {
      grown = grow_exact<Record>({*problem.exact, search, grow_options, records, scratch}, threads);
    } else if (problem.sparse != nullptr) {
      grown = grow_sparse<Record>(
          {*problem.sparse, search, grow_options, records, scratch, problem.communicator}, threads);
    } else {
      Growth<Record> growth = {*problem.data, search,  grow_options,
                               records,       scratch, problem.communicator};
      growth.source = &source;
      grown = grow<Record>(growth, threads);
    }
  }
  std::vector<std::int32_t> tree_index;
  Tree tree = to_tree(grown, problem.bins, rules, tree_index);
  set_values(grown, tree_index, options, problem.scales, tree);
  return tree;
}

// Many trees: each thread grows whole trees. Few trees, a memory limit or ranks, which synchronise at every node: all
// threads grow one tree at a time.
template <class Record>
void grow_all(const Problem& problem, Threads& threads, std::vector<Tree>& trees) {
  trees.resize(problem.options.trees);
  std::atomic<int> next = 0, made = 0;
  std::atomic<bool> is_ended = false;
  const auto caller = std::this_thread::get_id();
  const auto grow_some = [&](Threads& helpers) {
    Records<Record> records, scratch;
    for (int i; !is_ended && (i = next++) < problem.options.trees;) {
      trees[i] = grow_one(problem, i, records, scratch, helpers);
      const int all = ++made;
      if (problem.options.progress && problem.communicator == nullptr &&
          std::this_thread::get_id() == caller && !problem.options.progress(all))
        is_ended = true;
    }
  };
  if (problem.communicator != nullptr || problem.limit.exists() ||
      problem.options.trees < threads.count())
    return grow_some(threads);
  threads.run(threads.count(), [&](std::int64_t) {
    Threads alone(1);
    grow_some(alone);
  });
}

}  // namespace

int bootstrap_copies(const ForestOptions& options, int tree, std::int64_t row) {
  const std::uint64_t seed = mix(options.seed, static_cast<std::uint64_t>(tree));
  return poisson(options.samples, mix(seed, static_cast<std::uint64_t>(row)));
}

Model train_forest(const Matrix& matrix, const Targets& given, const ForestOptions& given_options,
                   Threads& threads, comm::Communicator* communicator) {
  const ScaledWeights weights(given, communicator);
  const Targets& targets = weights.targets();
  ForestOptions options = given_options;
  options.min_weight_leaf *= weights.factor();
  options.min_gain *= weights.factor();
  if (options.trees < 1 || options.classes < 0 || options.classes == 1 || options.samples <= 0)
    throw ConfigError("DDL-9-20",
                      fmt::format("trees is {}, classes {}, samples {}: trees must be at least 1, "
                                  "classes 0 or at least 2, and samples above 0.",
                                  options.trees, options.classes, options.samples));
  check_structure(matrix, threads);
  TargetScales scales =
      find_scales(targets, matrix.rows, options.classes, threads, communicator, row_use(options));
  const bool counts_rows =
      options.min_samples_leaf > 1 && (options.bootstrap || !scales.has_equal_weights);
  scales.is_narrow = scales.is_narrow && !counts_rows;
  BinOptions bin_options = options.bins;
  bin_options.weights = targets.weights;
  bin_options.keeps_ranges = options.random_thresholds;
  const MemoryLimit limit(options.memory_limit);
  std::optional<BinnedRows> binned;
  std::optional<ExactData> exact;
  Bins no_bins;
  if (options.exact_splits) {
    check_exact(options.bins, options.memory_limit, communicator);
    no_bins.columns.resize(matrix.columns);
    exact.emplace(matrix, threads);
  } else {
    binned.emplace(find_and_bin(matrix, bin_options, limit, threads, communicator));
  }
  const Problem problem = {matrix.rows,
                           static_cast<int>(matrix.columns),
                           binned && !binned->sparse ? &binned->data : nullptr,
                           binned && binned->sparse ? &*binned->sparse : nullptr,
                           exact ? &*exact : nullptr,
                           binned ? binned->bins : no_bins,
                           targets,
                           options,
                           scales,
                           limit,
                           communicator,
                           counts_rows};
  Model model;
  model.columns = static_cast<int>(matrix.columns);
  model.outputs = std::max(1, options.classes);
  model.averages = true;
  model.base.assign(model.outputs, 0.0);
  model.tree_output.assign(options.trees, 0);
  if (scales.is_narrow)
    grow_all<NarrowRecord>(problem, threads, model.trees);
  else
    grow_all<WideRecord>(problem, threads, model.trees);
  std::erase_if(model.trees, [](const Tree& tree) { return tree.nodes.empty(); });
  model.tree_output.resize(model.trees.size());
  return model;
}

}  // namespace tutti::learn::tree
