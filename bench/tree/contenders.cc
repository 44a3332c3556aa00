#include "bench/tree/contenders.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/harness/process.h"
#include "bench/harness/statistics.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/bins/binned_data.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/predict/predictor.h"
#include "tutti/os/environment.h"

namespace tutti::bench {
namespace {

using learn::Matrix;
using learn::Threads;

Matrix matrix_of(const Decays& data) {
  return {learn::Storage::kDense, DType::kF32,      data.rows, Decays::kColumns,
          data.values.data(),     Decays::kColumns, 1};
}

learn::tree::Model fit(const TreeCase& one, const Decays& data, Threads& threads) {
  const learn::tree::Targets targets = {data.labels, {}};
  if (one.name == "boosting") {
    learn::tree::BoostOptions options;
    options.objective = "logistic";
    options.rounds = one.trees;
    options.max_leaves = one.leaves;
    options.l2 = 1;
    return train_boosting(matrix_of(data), targets, options, threads).model;
  }
  learn::tree::ForestOptions options;
  options.classes = 2;
  options.max_depth = one.depth;
  options.min_samples_leaf = one.min_samples_leaf;
  options.trees = one.trees;
  options.bootstrap = one.trees > 1;
  options.columns_per_node = one.trees > 1 ? static_cast<int>(std::sqrt(Decays::kColumns)) : 0;
  return train_forest(matrix_of(data), targets, options, threads);
}

// Returns the probabilities of class 1.
std::vector<double> predict_all(const learn::tree::Predictor& predictor,
                                const learn::tree::Model& model, const Decays& data,
                                Threads& threads) {
  const auto outputs = static_cast<std::size_t>(model.outputs);
  std::vector<double> raw(static_cast<std::size_t>(data.rows) * outputs), ones;
  predictor.predict(matrix_of(data), raw, threads);
  apply_link(model.link, model.outputs, raw);
  for (std::size_t i = outputs - 1; i < raw.size(); i += outputs) ones.push_back(raw[i]);
  return ones;
}

double auc_of(const std::vector<double>& predictions, const std::vector<double>& labels) {
  std::vector<std::size_t> order(predictions.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return predictions[a] < predictions[b]; });
  double ranks = 0, ones = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && predictions[order[end]] == predictions[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j)
      if (labels[order[j]] > 0.5) ranks += static_cast<double>(i + end + 1) / 2, ++ones;
    i = end;
  }
  return (ranks - ones * (ones + 1) / 2) / (ones * (static_cast<double>(order.size()) - ones));
}

void evaluate(const std::vector<double>& predictions, const std::vector<double>& labels,
              TreeResult& result) {
  double loss = 0, right = 0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const double safe = std::clamp(predictions[i], 1e-7, 1 - 1e-7);
    loss -= std::log(labels[i] > 0.5 ? safe : 1 - safe);
    right += (predictions[i] > 0.5) == (labels[i] > 0.5) ? 1 : 0;
  }
  result.log_loss = loss / static_cast<double>(predictions.size());
  result.accuracy = right / static_cast<double>(predictions.size());
  result.auc = auc_of(predictions, labels);
}

void write(const std::filesystem::path& path, const void* from, std::size_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(from), static_cast<std::streamsize>(bytes));
  file.close();
  if (!file)
    throw IoError("DDL-8-12",
                  fmt::format("Cannot write {}. Set TMPDIR to a directory with enough space.",
                              path.string()));
}

// Rows of the root, and for every split above the last level those of the smaller child.
double visits_of(const learn::tree::Model& model, int max_depth) {
  const auto& nodes = model.trees[0].nodes;
  std::vector<int> depth(nodes.size());
  double rows = static_cast<double>(nodes[0].count);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is_leaf()) continue;
    const auto left = static_cast<std::size_t>(nodes[i].left);
    const auto right = static_cast<std::size_t>(nodes[i].right);
    depth[left] = depth[right] = depth[i] + 1;
    if (depth[left] < max_depth)
      rows += static_cast<double>(std::min(nodes[left].count, nodes[right].count));
  }
  return rows * Decays::kColumns;
}

}  // namespace

TreeResult measure_tutti(const TreeCase& one, const TreeSettings& settings, const TreeData& data) {
  TreeResult result;
  result.system = "tutti";
  Threads threads(settings.threads);
  Stopwatch watch;
  learn::tree::Model model;
  std::vector<double> binning_seconds;
  // Alternates the systems, because the speed of a shared machine changes over time.
  for (int i = 0; i < std::max(1, settings.repeats); ++i) {
    watch.restart();
    model = fit(one, data.train, threads);
    result.fit_seconds.push_back(watch.seconds());
    watch.restart();
    const auto bins = learn::tree::find_bins(matrix_of(data.train), {}, threads);
    const auto binned = learn::tree::bin(matrix_of(data.train), bins, threads);
    binning_seconds.push_back(watch.seconds());
  }
  result.binning_seconds = summarise(binning_seconds).median;
  if (one.depth > 0 && one.trees == 1) result.visits = visits_of(model, one.depth);
  const learn::tree::Predictor predictor(model);
  watch.restart();
  const auto predictions = predict_all(predictor, model, data.test, threads);
  result.predict_seconds = watch.seconds();
  evaluate(predictions, data.test.labels, result);
  std::vector<double> out(static_cast<std::size_t>(model.outputs));
  const std::size_t rows = std::min<std::size_t>(2000, data.test.labels.size());
  watch.restart();
  for (std::size_t i = 0; i < rows; ++i)
    predictor.predict_row(
        std::span(data.test.values).subspan(i * Decays::kColumns, Decays::kColumns), out);
  result.row_microseconds = watch.seconds() * 1e6 / static_cast<double>(rows);
  return result;
}

void write_data(const TreeData& data, const std::filesystem::path& folder) {
  write(folder / "x", data.train.values.data(), data.train.values.size() * sizeof(float));
  write(folder / "y", data.train.labels.data(), data.train.labels.size() * sizeof(double));
  write(folder / "x_test", data.test.values.data(), data.test.values.size() * sizeof(float));
  write(folder / "y_test", data.test.labels.data(), data.test.labels.size() * sizeof(double));
}

TreeResult measure_baseline(const std::string& python, const std::string& system,
                            const TreeCase& one, const TreeSettings& settings,
                            const std::filesystem::path& folder, const InterruptScope& interrupt) {
  const auto program = os::prefix() / "libexec/tutti/baseline_trees.py";
  const std::string threads = std::to_string(settings.threads);
  const auto log = folder / (system + ".log");
  Process process(
      {{python, program, folder, system, one.name, std::to_string(one.depth),
        std::to_string(one.trees), std::to_string(one.leaves), std::to_string(one.min_samples_leaf),
        threads, std::to_string(settings.repeats)},
       {"OMP_NUM_THREADS=" + threads}},
      log);
  for (const Stopwatch watch; !process.has_ended();) {
    pollfd events[] = {{process.end_fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    poll(events, 2, 500);
    interrupt.check();
    if (watch.seconds() > settings.timeout)
      throw TimeoutError("DDL-8-41",
                         fmt::format("{} took more than {} s; raise --timeout or lower --rows.",
                                     system, settings.timeout));
  }
  if (!process.succeeded())
    throw CommError("DDL-8-41",
                    fmt::format("{} {}:\n{}", system, process.how_it_ended(), last_lines(log, 10)));
  std::ifstream file(folder / (system + ".json"));
  const auto json = nlohmann::json::parse(file);
  TreeResult result;
  result.system = fmt::format("{} {}", system, json.at("version").get<std::string>());
  result.fit_seconds = json.at("fit_seconds").get<std::vector<double>>();
  result.predict_seconds = json.at("predict_seconds");
  result.row_microseconds = json.at("row_microseconds");
  result.log_loss = json.at("log_loss");
  result.auc = json.at("auc");
  result.accuracy = json.at("accuracy");
  return result;
}

}  // namespace tutti::bench
