// Results of the autotuner (mode p), and the file that caches them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"
#include "tutti/plan/choose.h"
#include "tutti/topo/grid.h"
#include "tutti/topo/machine.h"

namespace tutti::comm {

struct Tuning {
  std::vector<plan::Measurement> measured;  // all results; the fastest of a size class wins
  std::int64_t eager_bytes = -1;            // -1: not measured
  double load = 0;                          // load per CPU before the measurement
};

// One-minute load average of this host, per CPU.
double load_per_processor();
// True if the measurement was made on a busy machine that is now much less busy.
bool is_outdated(const Tuning& tuning, double load_now);

// Key of the cache: equal for jobs that can share results. It covers the machine, the allowed CPUs, the grid of ranks
// and the transport. Usable as a file name.
std::string tuning_key(const topo::Machine& machine, const topo::Grid& grid,
                       std::string_view transport);

// JSON, see docs/formats/tuning.md. Parsing never throws: it returns nullopt if the text is invalid, has another
// version or key, or names an algorithm that is not available on this grid.
std::string to_json(const Tuning& tuning, const std::string& key);
std::optional<Tuning> parse_tuning(std::string_view json, const std::string& key,
                                   const topo::Grid& grid);

// Path of the cache file (option tuning_cache); empty if caching is off or there is no home directory.
std::filesystem::path tuning_file(const Options& options, const std::string& key);
// Contents of the file; "" if it does not exist.
std::string read_tuning(const std::filesystem::path& file);
// Replaces the file atomically: concurrent readers see the old or the new text. Failure to write is only logged.
void write_tuning(const std::filesystem::path& file, const std::string& json);

}  // namespace tutti::comm
