#include "bench/shapes/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "bench/harness/statistics.h"
#include "bench/harness/table.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kOurs = "tutti";

void add_line(const Json& line, const ShapeCell& common, std::vector<ShapeCell>& cells) {
  const std::string estimator = line.at("estimator"), system = line.at("system");
  if (cells.empty() || cells.back().estimator != estimator) {
    const auto known = std::find_if(cells.begin(), cells.end(), [&](const ShapeCell& cell) {
      return cell.estimator == estimator;
    });
    if (known == cells.end()) {
      cells.push_back(common);
      cells.back().estimator = estimator;
    } else {  // a second worker
      std::rotate(known, known + 1, cells.end());
    }
  }
  ShapeCell& cell = cells.back();
  if (system.empty()) {
    cell.columns = line.at("columns"), cell.entries = line.at("entries");
  } else if (line.contains("limit")) {
    cell.limited.push_back(system);
  } else if (line.contains("error")) {
    cell.errors.push_back(fmt::format("{}: {}", system, line["error"].get<std::string>()));
  } else {
    const double none = std::numeric_limits<double>::quiet_NaN();
    cell.fits.push_back({system, line.at("settings"), line.at("solver"), line.at("why"),
                         line.at("cpu"), line.at("wall"), line.at("samples"),
                         line.value("objective", none), line.value("score", none)});
  }
}

}  // namespace

std::vector<ShapeCell> read_cells(const std::filesystem::path& path, const ShapeCell& common) {
  std::vector<ShapeCell> cells;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !file.eof();) try {
      add_line(Json::parse(line), common, cells);
    } catch (const Json::exception&) {
      throw IoError("DDL-8-74",
                    fmt::format("The worker of bench shapes wrote '{}', not a result.", line));
    }
  return cells;
}

double ShapeCell::gap(const ShapeFit& fit) const {
  double best = fit.objective;
  for (const ShapeFit& other : fits) best = std::fmin(best, other.objective);
  return (fit.objective - best) / std::abs(best);
}

bool ShapeCell::is_good(const ShapeFit& fit) const {
  if (!std::isnan(fit.objective)) return gap(fit) <= target;
  double ours = -1;
  for (const ShapeFit& other : fits)
    if (other.system == kOurs) ours = std::fmax(ours, other.score);
  return fit.score >= ours - kScoreMargin;
}

const ShapeFit* ShapeCell::fastest(bool is_ours) const {
  const ShapeFit* first = nullptr;
  for (const ShapeFit& fit : fits)
    if ((fit.system == kOurs) == is_ours && is_good(fit) &&
        (first == nullptr || fit.cpu < first->cpu))
      first = &fit;
  return first;
}

const ShapeFit* ShapeCell::ours() const {
  return fastest(true);
}

const ShapeFit* ShapeCell::best_baseline() const {
  return fastest(false);
}

double ShapeCell::ratio() const {
  const ShapeFit *mine = ours(), *theirs = best_baseline();
  if (mine != nullptr && theirs != nullptr) return theirs->cpu / mine->cpu;
  if (mine == nullptr) return theirs == nullptr ? 0 : theirs->cpu / limit;
  return limited.empty() ? 0 : limit / mine->cpu;
}

std::vector<Row> rows_of(const ShapeCell& cell) {
  std::vector<Row> rows;
  const auto add = [&](const ShapeFit& fit, const char* metric, double value, const char* unit) {
    Row row{
        .bench = "shapes", .system = fit.system, .metric = metric, .value = value, .unit = unit};
    row.fields = {{"shape", cell.shape},     {"estimator", cell.estimator},
                  {"rows", cell.rows},       {"columns", cell.columns},
                  {"entries", cell.entries}, {"settings", fit.settings},
                  {"solver", fit.solver},    {"why", fit.why},
                  {"samples", fit.samples}};
    if (!std::isnan(fit.objective)) row.fields["gap"] = cell.gap(fit);
    if (!std::isnan(fit.score)) row.fields["score"] = fit.score;
    row.fields["is_good"] = cell.is_good(fit);
    return rows.emplace_back(std::move(row));
  };
  for (const ShapeFit& fit : cell.fits) {
    add(fit, "cpu_time", fit.cpu, "s");
    add(fit, "time", fit.wall, "s");
  }
  if (const ShapeFit* ours = cell.ours(); ours != nullptr && cell.ratio() > 0) {
    const ShapeFit* baseline = cell.best_baseline();
    add(*ours, "ratio", cell.ratio(), "x");
    set_baseline(rows.back(), baseline != nullptr ? baseline->system : cell.limited.front());
    rows.back().fields["is_lower_bound"] = baseline == nullptr;
  }
  return rows;
}

namespace {

std::string seconds_of(const ShapeFit* fit, const ShapeCell& cell, bool is_limited) {
  if (fit != nullptr) return format_seconds(fit->cpu);
  return is_limited ? fmt::format(">{} s", cell.limit) : "";
}

std::string quality_of(const ShapeFit& fit, const ShapeCell& cell) {
  return std::isnan(fit.objective) ? fmt::format("{:.4f}", fit.score)
                                   : fmt::format("{:.0e}", cell.gap(fit));
}

// A score of another system is more than the margin above Tutti's.
bool has_lower_score(const ShapeCell& cell) {
  const ShapeFit* ours = cell.ours();
  return ours != nullptr &&
         std::any_of(cell.fits.begin(), cell.fits.end(),
                     [&](const ShapeFit& fit) { return fit.score > ours->score + kScoreMargin; });
}

void add_cell(const ShapeCell& cell, Table& table) {
  const ShapeFit *ours = cell.ours(), *baseline = cell.best_baseline();
  const double ratio = cell.ratio();
  const bool is_limited =
      std::find(cell.limited.begin(), cell.limited.end(), kOurs) != cell.limited.end();
  const std::string bound = ratio == 0            ? ""
                            : ours == nullptr     ? "<"
                            : baseline == nullptr ? ">"
                                                  : "";
  table.add({cell.shape, cell.estimator,
             ours == nullptr && !is_limited ? "not reached" : seconds_of(ours, cell, is_limited),
             ours != nullptr ? format_seconds(ours->wall) : "",
             ours != nullptr ? quality_of(*ours, cell) : "", ours != nullptr ? ours->solver : "",
             seconds_of(baseline, cell, !cell.limited.empty()),
             baseline != nullptr ? quality_of(*baseline, cell) : "",
             baseline != nullptr ? baseline->system : "",
             ratio > 0 ? bound + format_digits(ratio) : "",
             fmt::format("{} {}", ratio > 0 && ratio < 1 ? "slower" : "",
                         has_lower_score(cell) ? "lower score" : "")});
}

std::string summary_of(const std::vector<ShapeCell>& cells) {
  std::vector<double> ratios;
  for (const ShapeCell& cell : cells)
    if (const double ratio = cell.ratio(); ratio > 0) ratios.push_back(ratio);
  if (ratios.empty()) return "";
  const auto slower =
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
  return fmt::format("{} cells compared: median ratio {}, another library is faster in {}\n",
                     ratios.size(), format_digits(summarise(ratios).median), slower);
}

}  // namespace

std::string text_of(const std::vector<ShapeCell>& cells) {
  Table table({"shape", "estimator", "tutti CPU", "wall", "gap or score", "solver",
               "best baseline CPU", "gap or score", "best baseline", "ratio", ""});
  std::string errors;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0 && cells[i].shape != cells[i - 1].shape) table.add_gap();
    add_cell(cells[i], table);
    for (const std::string& error : cells[i].errors)
      errors += fmt::format("{}, {}: {}\n", cells[i].shape, cells[i].estimator, error);
  }
  return table.text() + summary_of(cells) + errors;
}

}  // namespace tutti::bench
