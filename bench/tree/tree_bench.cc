#include "bench/tree/tree_bench.h"

#include <fmt/format.h>

#include "bench/harness/machine.h"
#include "bench/harness/newest_peers.h"
#include "bench/harness/progress.h"
#include "bench/harness/row.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/harness/table.h"
#include "bench/tree/contenders.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

class Report {
 public:
  Report(const TreeSettings& settings)
      : settings_(settings),
        table_({"case", "rows", "system", "fit", "binning", "log loss", "auc", "accuracy",
                "predict", "one row", "vs tutti"}) {}

  void add(const TreeCase& one, const TreeResult& result, const TreeResult& ours) {
    const Summary fit = summarise(result.fit_seconds);
    const double ratio = fit.median / summarise(ours.fit_seconds).median;
    const bool is_ours = &result == &ours;
    table_.add({one.name, std::to_string(one.rows), result.system, format_seconds(fit.median),
                is_ours ? format_seconds(result.binning_seconds) : "",
                fmt::format("{:.5f}", result.log_loss), fmt::format("{:.4f}", result.auc),
                fmt::format("{:.4f}", result.accuracy), format_seconds(result.predict_seconds),
                format_seconds(result.row_microseconds * 1e-6),
                is_ours ? "" : format_digits(ratio)});
    put(one, result, "fit_time", fit.median, "s", &fit);
    if (is_ours) put(one, result, "binning_time", result.binning_seconds, "s");
    if (is_ours && result.visits > 0) {
      const double ns =
          (fit.median - result.binning_seconds) * settings_.threads * 1e9 / result.visits;
      put(one, result, "time_per_visit", ns, "ns");
      slower_ += fmt::format(
          "{}: tree growth takes {:.2f} ns of one core per row and column added to a histogram "
          "(the root, and the smaller child of each split)\n",
          one.name, ns);
    }
    put(one, result, "log_loss", result.log_loss, "nat");
    put(one, result, "auc", result.auc, "");
    put(one, result, "accuracy", result.accuracy, "");
    put(one, result, "predict_time", result.predict_seconds, "s");
    put(one, result, "one_row_time", result.row_microseconds, "us");
    if (!is_ours) put(one, ours, "ratio", ratio, "x", nullptr, result.system);
    if (!is_ours && ratio < 1)
      slower_ += fmt::format("{} is faster than Tutti in case {}.\n", result.system, one.name);
  }
  void add_gap() { table_.add_gap(); }
  std::string text() const { return table_.text() + slower_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void put(const TreeCase& one, const TreeResult& result, const char* metric, double value,
           const char* unit, const Summary* spread = nullptr, const std::string& baseline = "") {
    Row row = {"tree", result.system, metric, value, unit};
    row.fields["case"] = one.name;
    row.fields["rows"] = one.rows;
    row.fields["leaf_rows"] = one.min_samples_leaf;
    row.fields["columns"] = Decays::kColumns;
    row.fields["depth"] = one.depth;
    row.fields["trees"] = one.trees;
    row.fields["leaves"] = one.leaves;
    row.fields["threads"] = settings_.threads;
    if (!baseline.empty()) set_baseline(row, baseline);
    if (spread != nullptr) {
      row.fields["low"] = spread->low;
      row.fields["high"] = spread->high;
      row.fields["samples"] = spread->samples;
    }
    rows_.push_back(row);
  }

  const TreeSettings& settings_;
  Table table_;
  std::vector<Row> rows_;
  std::string slower_;
};

}  // namespace

int run_tree(int argc, char** argv) {
  TreeSettings settings;
  if (!parse_tree(argc, argv, settings)) return 0;
  const Machine machine = describe_machine();
  const InterruptScope interrupt;
  const auto cases = cases_of(settings);
  const auto newest = newest_peers();
  Progress progress(static_cast<int>(cases.size()) * (newest ? 6 : 3));
  Report report(settings);
  std::string failures;
  for (const TreeCase& one : cases) {
    const ScratchFolder folder;
    progress.step(fmt::format("{}: data", one.name));
    const TreeData data = {make_decays(one.rows, 1), make_decays(settings.test_rows, 2)};
    if (!one.baselines.empty()) write_data(data, folder.path());
    progress.step(fmt::format("{}: tutti", one.name));
    const TreeResult ours = measure_tutti(one, settings, data);
    report.add(one, ours, ours);
    const auto measure = [&](const std::string& python, const std::string& baseline) {
      progress.step(fmt::format("{}: {}", one.name, baseline));
      try {
        report.add(one, measure_baseline(python, baseline, one, settings, folder.path(), interrupt),
                   ours);
      } catch (const Error& error) {
        failures += fmt::format("{}\n", error.what());
      }
    };
    for (const std::string& baseline : one.baselines) measure("/usr/bin/python3", baseline);
    if (newest)
      for (const std::string& baseline : newest_baselines(one)) measure(*newest, baseline);
    report.add_gap();
  }
  progress.clear();
  fmt::print("{}", heading(machine));
  fmt::print("{}{}", report.text(), failures);
  settings.row_file.write(report.rows(), machine);
  return failures.empty() ? 0 : 1;
}

}  // namespace tutti::bench
