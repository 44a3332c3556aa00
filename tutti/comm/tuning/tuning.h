// What mode p has found out, and the file that keeps it for the next job on such machines.
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
  std::vector<plan::Measurement> measured;  // all that was tried; the fastest of a size class wins
  std::int64_t eager_bytes = -1;            // -1: not measured
  double load = 0;  // programs that wanted to run, per processor, before it was measured
};

// How many programs want to run on this host, per processor, over the last minute.
double load_per_processor();
// Whether to measure again what was measured beside other work: there is much less of it now.
bool is_outdated(const Tuning& tuning, double load_now);

// Equal for jobs among which the same choices are fast: the machine, the processors that may be
// used, the arrangement of ranks, the transport. Fit for a file name.
std::string tuning_key(const topo::Machine& machine, const topo::Grid& grid,
                       std::string_view transport);

// JSON, docs/formats/tuning.md. Reading never fails: nothing where the text is broken, of another
// version or key, or names what cannot be done on this grid.
std::string to_json(const Tuning& tuning, const std::string& key);
std::optional<Tuning> parse_tuning(std::string_view json, const std::string& key,
                                   const topo::Grid& grid);

// The file of the option tuning_cache; empty when nothing is to be kept or there is no home.
std::filesystem::path tuning_file(const Options& options, const std::string& key);
// The text of the file, "" where there is none.
std::string read_tuning(const std::filesystem::path& file);
// Whoever reads at the same time sees the old or the new text, never half of it. A folder that
// cannot be written is not worth more than a word in the log.
void write_tuning(const std::filesystem::path& file, const std::string& json);

}  // namespace tutti::comm
