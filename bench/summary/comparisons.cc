#include <fmt/format.h>

#include <map>
#include <set>

#include "bench/harness/table.h"
#include "bench/summary/summary.h"
#include "tutti/core/bytes.h"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

// Rows of earlier releases have only "peer", the deprecated name of the field.
std::string baseline_of(const Json& row) {
  return row.value("baseline", row.value("peer", ""));
}

bool is_comparison(const Json& row) {
  return row.is_object() && row.value("metric", "") == "ratio" && !baseline_of(row).empty() &&
         row.contains("value") && row["value"].is_number();
}

// Fields that identify a case; the others are results or settings of the measurement.
bool is_case_field(const Json& row, const std::string& name) {
  static const std::set<std::string> kOthers = {"bench",    "system",   "metric", "value", "unit",
                                                "baseline", "peer",     "low",    "high",  "gap",
                                                "samples",  "settings", "machine"};
  // Deprecated names of map_by and variant.
  const bool is_alias =
      (name == "deal" && row.contains("map_by")) || (name == "way" && row.contains("variant"));
  return !is_alias && !kOthers.contains(name);
}

std::string value_text(const std::string& field, const Json& value) {
  if (field == "bytes" && value.is_number()) return format_bytes(value.get<std::int64_t>());
  if (value.is_string()) return value.get<std::string>();
  // A number needs its name.
  return fmt::format("{} {}", field, value.dump());
}

using Values = std::map<std::string, std::map<std::string, std::set<std::string>>>;

Values values_of(const Json& rows) {
  Values values;  // by benchmark and field
  for (const Json& row : rows)
    if (is_comparison(row))
      for (const auto& [field, value] : row.items())
        if (is_case_field(row, field)) values[row.value("bench", "")][field].insert(value.dump());
  return values;
}

}  // namespace

std::vector<Comparison> comparisons_of(const Json& rows) {
  const Values values = values_of(rows);
  std::vector<Comparison> comparisons;
  for (const Json& row : rows) {
    if (!is_comparison(row)) continue;
    Comparison one{row.value("bench", ""), "", baseline_of(row), row["value"].get<double>()};
    for (const auto& [field, value] : row.items())
      if (is_case_field(row, field) &&
          (values.at(one.bench).at(field).size() > 1 || field == "case"))
        one.name += (one.name.empty() ? "" : ", ") + value_text(field, value);
    comparisons.push_back(one);
  }
  return comparisons;
}

std::string text_of(const std::vector<Comparison>& comparisons) {
  Table table({"benchmark", "case", "baseline", "speed-up"});
  std::string last, slower;
  for (const Comparison& one : comparisons) {
    if (!last.empty() && last != one.bench) table.add_gap();
    last = one.bench;
    table.add({one.bench, one.name, one.baseline, format_digits(one.ratio) + " x"});
    if (one.ratio < 1)
      slower += fmt::format("  {}: {}: {} is {} times as fast\n", one.bench, one.name, one.baseline,
                            format_digits(1 / one.ratio));
  }
  return table.text() + (slower.empty() ? "No baseline is faster than Tutti in these cases.\n"
                                        : "Baselines are faster than Tutti in:\n" + slower);
}

plot::BarChart chart_of(const std::vector<Comparison>& comparisons, std::string machine) {
  plot::BarChart chart{"Speed-up over baselines",
                       std::move(machine),
                       "time of the baseline / time of Tutti",
                       {},
                       1,
                       true};
  std::string last;
  for (const Comparison& one : comparisons) {
    if (chart.groups.empty() || last != one.bench) chart.groups.push_back({one.bench, {}});
    last = one.bench;
    const std::string name = one.name.empty() ? one.baseline : one.name + " / " + one.baseline;
    chart.groups.back().bars.push_back({name, one.ratio, format_digits(one.ratio) + " x"});
  }
  return chart;
}

}  // namespace tutti::bench
