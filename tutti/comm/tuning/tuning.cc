#include "tutti/comm/tuning/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tutti/comm/transport/shm/host_control_block.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/os/atomic_file.h"
#include "tutti/os/text_file.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/cost.h"

namespace tutti::comm {
namespace {

using nlohmann::json;

constexpr int kVersion = 3;
constexpr double kBusy = 0.5;

// True if the choice can be executed on this grid, as far as the model knows.
bool is_possible(const plan::Measurement& m, const topo::Grid& grid) {
  const auto& names = m.choice.algorithms;
  const bool known =
      !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
        const plan::Algorithm* row = plan::find_algorithm(name);
        return row && row->build;
      });
  if (!known || m.bytes <= 0 || m.choice.lanes < 1 || m.choice.lanes > kMaxLanes ||
      m.choice.rails < 0 || !(m.choice.seconds > 0) || !std::isfinite(m.choice.seconds)) {
    return false;
  }
  try {
    plan::predict(grid,
                  {.collective = m.collective, .count = std::max<std::int64_t>(1, m.bytes / 4)},
                  m.choice);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

plan::Measurement measurement_of(const json& row) {
  return {plan::Collective::kAllReduce,
          row.at("bytes").get<std::int64_t>(),
          {.algorithms = row.at("algorithms").get<std::vector<std::string>>(),
           .lanes = row.at("lanes").get<int>(),
           .rails = row.at("rails").get<int>(),
           .seconds = row.at("seconds").get<double>()}};
}

}  // namespace

double load_per_processor() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return 0;
  return load / static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

bool is_outdated(const Tuning& tuning, double load_now) {
  return tuning.load > kBusy && load_now < tuning.load / 2;
}

std::string tuning_key(const topo::Machine& machine, const topo::Grid& grid,
                       std::string_view transport) {
  std::vector<std::size_t> host_sizes;
  for (const auto& host : grid.hosts) host_sizes.push_back(host.size());
  const std::string shape =
      grid.is_even() ? topo::shape_of(grid) : fmt::to_string(fmt::join(host_sizes, "+"));
  std::string key = fmt::format("{}_{}cpus_{}_{}", topo::tuning_key(machine), machine.usable_cpus(),
                                shape, transport);
  for (char& letter : key) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) || letter == '.' ||
                          letter == '_' || letter == '+';
    if (!is_plain) letter = '-';
  }
  return key;
}

std::string to_json(const Tuning& tuning, const std::string& key) {
  json rows = json::array();
  for (const plan::Measurement& m : tuning.measured) {
    rows.push_back({{"collective", plan::name_of(m.collective)},
                    {"bytes", m.bytes},
                    {"algorithms", m.choice.algorithms},
                    {"lanes", m.choice.lanes},
                    {"rails", m.choice.rails},
                    {"seconds", m.choice.seconds}});
  }
  const json page = {{"version", kVersion},
                     {"key", key},
                     {"load", tuning.load},
                     {"eager_bytes", tuning.eager_bytes},
                     {"measured", std::move(rows)}};
  return page.dump(1) + "\n";
}

std::optional<Tuning> parse_tuning(std::string_view text, const std::string& key,
                                   const topo::Grid& grid) try {
  const json page = json::parse(text);
  if (page.at("version") != kVersion || page.at("key") != key) return std::nullopt;
  Tuning tuning;
  tuning.load = page.at("load").get<double>();
  tuning.eager_bytes = page.at("eager_bytes").get<std::int64_t>();
  if (tuning.eager_bytes < -1 || tuning.eager_bytes > static_cast<std::int64_t>(kEagerBytes)) {
    return std::nullopt;
  }
  for (const json& row : page.at("measured")) {
    if (row.at("collective") != plan::name_of(plan::Collective::kAllReduce)) continue;
    tuning.measured.push_back(measurement_of(row));
    if (!is_possible(tuning.measured.back(), grid)) return std::nullopt;
  }
  return tuning;
} catch (const json::exception&) {
  return std::nullopt;
}

std::filesystem::path tuning_file(const Options& options, const std::string& key) {
  std::filesystem::path folder = options.text("tuning_cache");
  if (folder == "none") return {};
  if (folder.empty()) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache && *cache) {
      folder = std::filesystem::path(cache) / "tutti";
    } else if (home && *home) {
      folder = std::filesystem::path(home) / ".cache" / "tutti";
    } else {
      return {};
    }
  }
  return folder / (key + ".json");
}

std::string read_tuning(const std::filesystem::path& file) {
  return os::read_text(file);
}

void write_tuning(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (os::write_atomically(file, text))
    log::debug("the measured choices cannot be kept in {}", file.string());
}

}  // namespace tutti::comm
