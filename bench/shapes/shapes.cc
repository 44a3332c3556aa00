#include "bench/shapes/shapes.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "bench/harness/interrupt.h"
#include "bench/harness/machine.h"
#include "bench/harness/newest_peers.h"
#include "bench/harness/process.h"
#include "bench/harness/progress.h"
#include "bench/harness/scratch_folder.h"
#include "bench/shapes/cases.h"
#include "bench/shapes/report.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kPollMilliseconds = 500;

// The cells of all shapes that have been measured, also after an interruption.
class ShapeBench {
 public:
  ShapeBench(const ShapeSettings& settings, const InterruptScope& interrupt, int steps)
      : settings_(settings), interrupt_(interrupt), progress_(steps) {}

  void run(const DataShape& shape) {
    const ScratchFolder folder;
    const std::size_t before = cells_.size();
    const ShapeCell common{.shape = std::string(shape.name),
                           .rows = settings_.rows_of(shape),
                           .target = settings_.target,
                           .limit = settings_.seconds};
    steps_of_shape_ = 0;
    try {
      run_worker("/usr/bin/python3", settings_.systems, common, folder.path());
      if (const auto newest = newest_peers(); newest && settings_.systems == "all")
        run_worker(*newest, "baselines", common, folder.path());
    } catch (const Error& error) {
      failures_ += fmt::format("{}\n", error.what());
    } catch (const Interrupted&) {
      take(folder.path() / "fits", common, before);
      throw;
    }
    take(folder.path() / "fits", common, before);
  }

  // Prints the table. Returns whether all workers succeeded.
  bool finish(const Machine& machine) {
    progress_.clear();
    fmt::print("{}{}{}", heading(machine), text_of(cells_), failures_);
    std::vector<Row> rows;
    for (const ShapeCell& cell : cells_) {
      const std::vector<Row> more = rows_of(cell);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    settings_.row_file.write(rows, machine);
    return failures_.empty();
  }

 private:
  void take(const fs::path& fits, const ShapeCell& common, std::size_t before) {
    cells_.resize(before);
    const std::vector<ShapeCell> more = read_cells(fits, common);
    cells_.insert(cells_.end(), more.begin(), more.end());
  }

  void run_worker(const std::string& python, const std::string& systems, const ShapeCell& common,
                  const fs::path& folder) {
    const auto program = os::prefix() / "libexec/tutti/worker_shapes.py";
    const fs::path log = folder / "log";
    Process worker(
        {{python, "-B", program, folder, common.shape, std::to_string(common.rows),
          std::to_string(settings_.seed), fmt::format("{}", fmt::join(settings_.estimators, ",")),
          fmt::format("{}", settings_.seconds), fmt::format("{}", settings_.target),
          settings_.is_quick ? "1" : "0", systems},
         {fmt::format("PYTHONPATH={}", (os::prefix() / "python").string()), "OMP_NUM_THREADS=1",
          "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"}},
        log);
    while (!worker.has_ended()) {
      pollfd events[] = {{worker.end_fd(), POLLIN, 0}, {interrupt_.fd(), POLLIN, 0}};
      ::poll(events, 2, kPollMilliseconds);
      interrupt_.check();
      show(folder / "fits", common);
    }
    if (!worker.succeeded())
      throw IoError("DDL-8-75",
                    fmt::format("The worker of bench shapes {} ({}):\n{}", worker.how_it_ended(),
                                common.shape, last_lines(log, 12)));
  }

  void show(const fs::path& fits, const ShapeCell& common) {
    const std::vector<ShapeCell> cells = read_cells(fits, common);
    for (; steps_of_shape_ < cells.size(); ++steps_of_shape_)
      progress_.step(fmt::format("{}: {}", common.shape, cells[steps_of_shape_].estimator));
  }

  const ShapeSettings& settings_;
  const InterruptScope& interrupt_;
  Progress progress_;
  std::vector<ShapeCell> cells_;
  std::string failures_;
  std::size_t steps_of_shape_ = 0;  // estimators of the current shape that have been shown
};

}  // namespace

int run_shapes(int argc, char** argv) {
  ShapeSettings settings;
  if (!parse_shapes(argc, argv, settings)) return 0;
  const Machine machine = describe_machine();
  const InterruptScope interrupt;
  ShapeBench bench(settings, interrupt,
                   static_cast<int>(settings.shapes.size() * settings.estimators.size()));
  try {
    for (const DataShape& shape : data_shapes())
      if (std::find(settings.shapes.begin(), settings.shapes.end(), shape.name) !=
          settings.shapes.end())
        bench.run(shape);
  } catch (const Interrupted&) {
    bench.finish(machine);
    throw;
  }
  return bench.finish(machine) ? 0 : 1;
}

}  // namespace tutti::bench
