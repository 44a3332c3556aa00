#include "tutti/runs/training_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "tutti/core/error.h"
#include "tutti/os/atomic_file.h"
#include "tutti/os/environment.h"
#include "tutti/os/text_file.h"

namespace tutti::runs {
namespace fs = std::filesystem;

fs::path new_run_folder(const fs::path& runs, const std::string& case_name) {
  fs::create_directories(runs);
  const std::time_t now = std::time(nullptr);
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}-{:%Y%m%d-%H%M%S}", case_name, fmt::localtime(now)) +
                             (attempt == 0 ? "" : fmt::format("-{}", attempt));
    std::error_code error;
    if (fs::create_directory(runs / name, error)) return runs / name;
    if (error || attempt > 1000)
      throw IoError(
          "DDL-7-63",
          fmt::format("Cannot create {}: {}. Choose another directory with --set runs=DIR.",
                      (runs / name).string(),
                      error ? error.message() : "too many runs began in this second"));
  }
}

os::FileLock lock_run(const fs::path& folder) {
  const fs::path file = folder / kLockFile;
  os::FileLock lock(file, os::FileLock::Children::kHold);
  if (!lock.try_lock()) {
    std::string holder = os::read_text(file);
    if (holder.empty()) holder = "another process";
    throw IoError("DDL-7-97",
                  fmt::format("{} is being trained by {}. Wait until that ends, or stop it; `tutti "
                              "evaluate` works meanwhile.",
                              folder.string(), holder));
  }
  std::ofstream(file, std::ios::trunc)
      << fmt::format("process {} on {}", getpid(), os::host_name());
  return lock;
}

RunLog::RunLog(fs::path folder, int rank)
    : folder_(std::move(folder)),
      writes_(rank == 0),
      events_(folder_, rank, os::host_name()),
      steps_(folder_ / kStepsFile),
      validations_(folder_ / kValidationsFile) {
  if (writes_) tensorboard_ = std::make_unique<TensorboardFile>(folder_ / kTensorboardFolder);
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
  // A run that is resumed at its end evaluates the last step again; replace its row.
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
    if (entry.is_regular_file() && entry.file_size() > 0 && entry.path() != folder / kConfigFile &&
        entry.path() != folder / kLockFile && entry.path() != folder / kNetworkFile &&
        entry.path().parent_path() != folder / kTensorboardFolder)
      return;
  fs::remove_all(folder, ignored);
}

void make_parent(const fs::path& file) {
  fs::create_directories(fs::absolute(file).parent_path());
}

void write_text(const fs::path& file, const std::string& text) {
  make_parent(file);
  const auto error =
      os::write_atomically(file, text, os::Durability::kPageCache, os::Writers::kOne);
  if (error)
    throw IoError("DDL-7-64", fmt::format("Cannot write {}: {}.", file.string(), error.message()));
}

}  // namespace tutti::runs
