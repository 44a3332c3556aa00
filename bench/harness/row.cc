#include "bench/harness/row.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <set>

#include "tutti/core/error.h"
#include "tutti/os/atomic_file.h"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

Json machine_json(const Machine& machine) {
  return {{"cpu", machine.cpu},
          {"simd", machine.simd},
          {"cores", machine.cores},
          {"sockets", machine.sockets},
          {"l2_bytes", machine.l2_bytes},
          {"l3_bytes", machine.l3_bytes},
          {"memory_bytes", machine.memory_bytes},
          {"virtual_machine", machine.virtual_machine},
          {"kernel", machine.kernel},
          {"load", machine.load}};
}

[[noreturn]] void cannot_write(const std::filesystem::path& path) {
  throw IoError("DDL-8-12",
                fmt::format("Cannot write {}. Check that its directory exists and has free space.",
                            path.string()));
}

}  // namespace

void set_baseline(Row& row, const std::string& system) {
  row.fields["baseline"] = row.fields["peer"] = system;
}

Json to_json(const Row& row, const Machine& machine) {
  static const std::set<std::string> kTaken = {"bench", "system", "metric",
                                               "value", "unit",   "machine"};
  if (!std::isfinite(row.value))
    throw ConfigError("DDL-8-10",
                      fmt::format("{} of {} is not a finite number.", row.metric, row.system));
  Json json = {{"bench", row.bench},
               {"system", row.system},
               {"metric", row.metric},
               {"value", row.value},
               {"unit", row.unit}};
  for (const auto& [name, value] : row.fields.items()) {
    if (kTaken.contains(name) || !value.is_primitive())
      throw ConfigError(
          "DDL-8-10",
          fmt::format("Field '{}' of a row must be a number, text or boolean with an unused name.",
                      name));
    json[name] = value;
  }
  json["machine"] = machine_json(machine);
  return json;
}

void write_rows(const std::filesystem::path& path, std::span<const Row> rows,
                const Machine& machine, FileMode mode) {
  const bool keeps = mode == FileMode::kAppend && std::filesystem::exists(path);
  Json all = keeps ? read_rows(path) : Json::array();
  for (const Row& row : rows) all.push_back(to_json(row, machine));

  std::string text;
  const char* separator = "[\n";
  for (const Json& row : all) {
    text += separator + row.dump();
    separator = ",\n";
  }
  text += all.empty() ? "[]\n" : "\n]\n";
  if (os::write_atomically(path, text)) cannot_write(path);
}

Json read_rows(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file)
    throw IoError(
        "DDL-8-11",
        fmt::format("{} does not exist. Create it with `tutti bench ... --json`.", path.string()));
  Json rows = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!rows.is_array())
    throw IoError("DDL-8-11",
                  fmt::format("{} has no benchmark rows. Remove it, or pass another file "
                              "to --json.",
                              path.string()));
  return rows;
}

void write_plot(const std::filesystem::path& path, const std::string& svg) {
  std::ofstream file(path);
  file << svg;
  file.close();
  if (!file) cannot_write(path);
}

}  // namespace tutti::bench
