#include "tutti/train/run/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "tutti/os/process.h"
#include "tutti/plot/chart.h"
#include "tutti/runs/training_log.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

constexpr double kConvertSeconds = 60;

// Number of steps that one point of a curve represents.
std::size_t steps_per_point(std::size_t steps) {
  constexpr std::size_t kPoints = 60;
  return std::max<std::size_t>(1, steps / kPoints);
}

// Mean over consecutive steps, for readable curves of many noisy steps, and the band with 80 % of them.
std::vector<plot::Point> smoothed(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t width = steps_per_point(y.size());
  std::vector<plot::Point> points;
  for (std::size_t begin = 0; begin + width <= y.size(); begin += width) {
    const std::span steps(x.data() + begin, width);
    std::vector<double> values(y.begin() + std::ptrdiff_t(begin),
                               y.begin() + std::ptrdiff_t(begin + width));
    const auto mean = [&](std::span<const double> of) {
      return std::accumulate(of.begin(), of.end(), 0.0) / double(width);
    };
    plot::Point point{mean(steps), mean(values)};
    std::sort(values.begin(), values.end());
    if (width > 2) point.low = values[width / 10], point.high = values[width - 1 - width / 10];
    points.push_back(point);
  }
  return points;
}

}  // namespace

std::vector<fs::path> write_pngs(const fs::path& folder) {
  std::vector<fs::path> written;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".svg") continue;
    const std::string png = fs::path(entry.path()).replace_extension(".png").string();
    const os::Outcome outcome = os::run({.arguments = {"rsvg-convert", "--background-color=white",
                                                       "-o", png, entry.path().string()}},
                                        kConvertSeconds);
    if (outcome.exit_code == 127) return written;  // not installed
    if (outcome.exit_code == 0 && !outcome.timed_out) written.emplace_back(png);
  }
  std::sort(written.begin(), written.end());
  return written;
}

std::vector<fs::path> plot_run(const fs::path& folder) {
  const auto columns = runs::read_metrics(folder);
  std::vector<fs::path> written;
  if (!columns.contains("step") || columns.at("step").empty()) return written;
  auto write = [&](const std::string& name, const plot::Chart& chart) {
    written.push_back(folder / runs::kPlotsFolder / (name + ".svg"));
    runs::write_text(written.back(), plot::render_svg(chart));
  };
  const std::size_t width = steps_per_point(columns.at("step").size());
  std::string subtitle = folder.filename().string();
  if (width > 2) subtitle += fmt::format("; mean of {} steps, the band has 80 % of them", width);
  auto draw = [&](const char* column, const char* label, bool is_linear) {
    const auto values = columns.find(column);
    if (values == columns.end()) return;
    write(column, {label,
                   subtitle,
                   {"step", 10, plot::plain_text, true, true},
                   {"", 10, plot::plain_text, is_linear},
                   {{"", plot::LineStyle::kOurs, smoothed(columns.at("step"), values->second)}}});
  };
  const auto loss = columns.find("loss");
  draw("loss", "loss",
       loss != columns.end() && *std::min_element(loss->second.begin(), loss->second.end()) <= 0);
  draw("learning_rate", "learning rate", true);
  draw("samples_per_second", "samples per second, all ranks", true);
  const runs::Columns validations = runs::read_csv(folder / runs::kValidationsFile);
  constexpr std::size_t kEpoch = 1, kLeading = 2;
  if (validations.size() > kLeading && validations[kEpoch].second.size() > 1) {
    plot::Series series{"", plot::LineStyle::kOurs, {}};
    for (std::size_t i = 0; i < validations[kEpoch].second.size(); ++i)
      series.points.push_back({validations[kEpoch].second[i], validations[kLeading].second[i]});
    write("validation", {validations[kLeading].first + ", on validation data",
                         folder.filename().string(),
                         {"epoch", 10, plot::plain_text, true, true},
                         {"", 10, plot::plain_text, true},
                         {series}});
  }
  const std::vector<fs::path> pictures = write_pngs(folder / runs::kPlotsFolder);
  written.insert(written.end(), pictures.begin(), pictures.end());
  return written;
}

}  // namespace tutti::train
