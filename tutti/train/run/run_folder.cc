#include "tutti/train/run/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <span>
#include <sstream>

#include "tutti/core/error.h"
#include "tutti/core/text_file.h"
#include "tutti/plot/chart.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStepsFile = "metrics.csv";
constexpr const char* kValidationsFile = "validation.csv";
constexpr const char* kLockFile = ".lock";

std::string host_name() {
  char host[64] = "host";
  gethostname(host, sizeof host - 1);
  return host;
}

// How many neighbours one point of a curve stands for.
std::size_t steps_per_point(std::size_t steps) {
  constexpr std::size_t kPoints = 60;
  return std::max<std::size_t>(1, steps / kPoints);
}

// The mean of neighbours, so that a curve of many noisy steps can be read, and between which values
// eight of ten lie.
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

fs::path new_run_folder(const fs::path& runs, const std::string& case_name) {
  fs::create_directories(runs);
  const std::time_t now = std::time(nullptr);
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}-{:%Y%m%d-%H%M%S}", case_name, fmt::localtime(now)) +
                             (attempt == 0 ? "" : fmt::format("-{}", attempt));
    std::error_code error;
    if (fs::create_directory(runs / name, error)) return runs / name;
    if (error || attempt > 1000)
      throw IoError("DDL-7-63",
                    fmt::format("Cannot make {}: {}. Name another folder with --set runs=FOLDER.",
                                (runs / name).string(),
                                error ? error.message() : "too many runs began in this second"));
  }
}

FileLock lock_run(const fs::path& folder) {
  const fs::path file = folder / kLockFile;
  FileLock lock(file, FileLock::Children::kHold);
  if (!lock.try_lock()) {
    std::string holder = read_text(file);
    if (holder.empty()) holder = "another process";
    throw IoError("DDL-7-97",
                  fmt::format("{} is being trained by {}. Wait until that ends, or stop it; `tutti "
                              "evaluate` works meanwhile.",
                              folder.string(), holder));
  }
  std::ofstream(file, std::ios::trunc) << fmt::format("process {} on {}", getpid(), host_name());
  return lock;
}

RunLog::RunLog(fs::path folder, int rank)
    : folder_(std::move(folder)),
      writes_(rank == 0),
      events_(folder_, rank, host_name()),
      steps_(folder_ / kStepsFile),
      validations_(folder_ / kValidationsFile) {
  if (writes_) tensorboard_ = std::make_unique<TensorboardFile>(folder_ / "tensorboard");
}

void RunLog::draw(const StepRow& row) {
  for (const auto& [name, value] : row.metrics)
    tensorboard_->scalar("train/" + name, row.step, static_cast<float>(value));
}

void RunLog::step(std::int64_t step, double epoch, const Metrics& metrics) {
  if (!writes_) return;
  const StepRow row{step, epoch, metrics};
  steps_.append(row);
  draw(row);
}

void RunLog::steps_of_others(const std::vector<StepRow>& rows) {
  if (!writes_) return;
  steps_.insert(rows);
  for (const StepRow& row : rows) draw(row);
}

void RunLog::validation(std::int64_t step, double epoch, const Metrics& metrics) {
  if (!writes_) return;
  // A run that was resumed at its end says again what it had said.
  if (!validations_.is_open()) cut_rows(folder_ / kValidationsFile, step);
  validations_.append({step, epoch, metrics});
  for (const auto& [name, value] : metrics) {
    tensorboard_->scalar("validation/" + name, step, static_cast<float>(value));
    events_.write("validation", {{"step", step}, {"metric", name}, {"value", value}});
  }
}

std::map<std::string, std::vector<double>> read_metrics(const fs::path& folder) {
  std::map<std::string, std::vector<double>> columns;
  for (auto& [name, values] : read_csv(folder / kStepsFile)) columns[name] = std::move(values);
  return columns;
}

void cut_metrics(const fs::path& folder, std::int64_t step) {
  for (const char* name : {kStepsFile, kValidationsFile}) cut_rows(folder / name, step);
}

void forget_if_empty(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
    if (entry.is_regular_file() && entry.file_size() > 0 &&
        entry.path() != folder / "config.toml" && entry.path() != folder / kLockFile &&
        entry.path() != folder / kNetworkFile &&
        entry.path().parent_path() != folder / "tensorboard")
      return;
  fs::remove_all(folder, ignored);
}

void make_parent(const fs::path& file) {
  fs::create_directories(fs::absolute(file).parent_path());
}

void write_text(const fs::path& file, const std::string& text) {
  make_parent(file);
  const fs::path draft = file.string() + ".part";
  errno = 0;
  std::ofstream stream(draft, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) {
    const std::string reason = strerror(errno != 0 ? errno : EIO);
    std::error_code ignored;
    fs::remove(draft, ignored);
    throw IoError("DDL-7-64", fmt::format("Cannot write {}: {}.", file.string(), reason));
  }
  fs::rename(draft, file);
}

std::vector<fs::path> write_pngs(const fs::path& folder) {
  std::vector<fs::path> written;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".svg") continue;
    const std::string svg = entry.path().string();
    std::string png = fs::path(entry.path()).replace_extension(".png").string();
    const std::array<const char*, 6> command = {
        "rsvg-convert", "--background-color=white", "-o", png.c_str(), svg.c_str(), nullptr};
    pid_t pid = 0;
    if (posix_spawnp(&pid, command[0], nullptr, nullptr, const_cast<char**>(command.data()),
                     environ) != 0)
      return written;  // not installed
    int status = 0;
    waitpid(pid, &status, 0);
    if (status == 0) written.emplace_back(png);
  }
  std::sort(written.begin(), written.end());
  return written;
}

std::vector<fs::path> plot_run(const fs::path& folder) {
  const auto columns = read_metrics(folder);
  std::vector<fs::path> written;
  if (!columns.contains("step") || columns.at("step").empty()) return written;
  auto write = [&](const std::string& name, const plot::Chart& chart) {
    written.push_back(folder / "plots" / (name + ".svg"));
    write_text(written.back(), plot::render_svg(chart));
  };
  const std::size_t width = steps_per_point(columns.at("step").size());
  std::string subtitle = folder.filename().string();
  if (width > 2)
    subtitle += fmt::format("; mean of {} steps, eight of ten of them lie in the band", width);
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
  const Columns validations = read_csv(folder / kValidationsFile);
  constexpr std::size_t kEpoch = 1, kLeading = 2;
  if (validations.size() > kLeading && validations[kEpoch].second.size() > 1) {
    plot::Series series{"", plot::LineStyle::kOurs, {}};
    for (std::size_t i = 0; i < validations[kEpoch].second.size(); ++i)
      series.points.push_back({validations[kEpoch].second[i], validations[kLeading].second[i]});
    write("validation", {validations[kLeading].first + ", of data that is not trained on",
                         folder.filename().string(),
                         {"epoch", 10, plot::plain_text, true, true},
                         {"", 10, plot::plain_text, true},
                         {series}});
  }
  const std::vector<fs::path> pictures = write_pngs(folder / "plots");
  written.insert(written.end(), pictures.begin(), pictures.end());
  return written;
}

}  // namespace tutti::train
