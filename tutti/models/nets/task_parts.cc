#include "tutti/models/nets/task_parts.h"

#include <fmt/format.h>
#include <stdlib.h>

#include "tutti/core/clock.h"
#include "tutti/train/run/progress.h"

namespace tutti::models {

namespace fs = std::filesystem;

fs::path data_folder(const std::string& name) {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  const fs::path base = cache && *cache ? fs::path(cache)
                        : home && *home ? fs::path(home) / ".cache"
                                        : fs::temp_directory_path();
  return base / "tutti" / name;
}

fs::path make_data(const std::string& name, std::string_view what, comm::Communicator& communicator,
                   const Generate& generate) {
  const fs::path folder = data_folder(name);
  train::ProgressLine line(communicator.rank() == 0);
  const Stopwatch watch;
  generate(folder, communicator.rank(), communicator.size(), [&](int done, int all) {
    const double left = watch.seconds() / done * (all - done);
    line.show(fmt::format("making {} in {}: {} of {} files of each rank, {} left", what,
                          folder.string(), done, all, train::duration_text(left)));
  });
  communicator.barrier({.name = "data"});
  return folder;
}

std::int64_t limited(std::int64_t available, std::int64_t most) {
  return most > 0 ? std::min(most, available) : available;
}

std::int64_t samples_to_judge(const Options& options, std::int64_t available) {
  return limited(available, options.integer("validation_samples"));
}

double value_of(const train::Metrics& metrics, std::string_view name) {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  return 0;
}

}  // namespace tutti::models
