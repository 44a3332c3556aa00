#include <fmt/format.h>

#include "bench/harness/table.h"
#include "bench/train/contest.h"

namespace tutti::bench {
namespace {

double samples_per_second(const TrainSettings& settings, int ranks, double step_seconds) {
  return settings.batch * ranks / step_seconds;
}

bool is_apart(const TrainSystem& system) {
  return system.name == kRanksApart || system.name == kSlowestApart;
}

}  // namespace

std::vector<Row> rows_of(const TrainSettings& settings, const TrainOutcome& outcome) {
  std::vector<Row> rows;
  for (int side : settings.sides) {
    const Summary* ours = outcome.find(side, "tutti");
    auto add = [&](const std::string& system, const std::string& metric, double value,
                   const std::string& unit, int ranks) -> Row& {
      rows.push_back({"train",
                      system,
                      metric,
                      value,
                      unit,
                      {{"case", settings.train_case.name},
                       {"ranks", ranks},
                       {settings.train_case.side_option, side},
                       {"batch", settings.batch}}});
      return rows.back();
    };
    for (const TrainSystem& system : systems_of(settings, side)) {
      const Summary* step = outcome.find(side, system.name);
      if (!step) continue;
      Row& row = add(system.name, "speed", samples_per_second(settings, system.ranks, step->median),
                     "samples/s", system.ranks);
      row.fields["low"] = samples_per_second(settings, system.ranks, step->high);
      row.fields["high"] = samples_per_second(settings, system.ranks, step->low);
      row.fields["samples"] = step->samples;
      if (!ours || system.name == "tutti") continue;
      const double ratio = step->median / ours->median;
      if (is_apart(system))
        add("tutti", system.name == kRanksApart ? "efficiency" : "exchange_efficiency", 100 * ratio,
            "%", settings.ranks);
      else if (system.ranks == settings.ranks)
        set_baseline(add("tutti", "ratio", ratio, "x", settings.ranks), system.name);
      else  // weak scaling: one rank should take as long as all
        add("tutti", "scaling", 100 * ratio, "%", settings.ranks);
    }
  }
  return rows;
}

std::string text_of(const TrainSettings& settings, const TrainOutcome& outcome) {
  Table table({settings.train_case.side_option, "system", "ranks", "samples/s", "quartiles", "step",
               "speed-up"});
  for (int side : settings.sides) {
    const Summary* ours = outcome.find(side, "tutti");
    for (const TrainSystem& system : systems_of(settings, side)) {
      const Summary* step = outcome.find(side, system.name);
      if (!step) continue;
      std::string verdict;
      if (ours && system.name != "tutti")
        verdict = is_apart(system)
                      ? fmt::format("{:.1f} % of it", 100 * step->median / ours->median)
                  : system.ranks == settings.ranks
                      ? fmt::format("{:.2f} x", step->median / ours->median)
                      : fmt::format("{:.1f} % scaling", 100 * step->median / ours->median);
      table.add({std::to_string(side), system.name, std::to_string(system.ranks),
                 format_digits(samples_per_second(settings, system.ranks, step->median)),
                 fmt::format("{} to {}",
                             format_digits(samples_per_second(settings, system.ranks, step->high)),
                             format_digits(samples_per_second(settings, system.ranks, step->low))),
                 format_seconds(step->median), verdict});
    }
    table.add_gap();
  }
  std::string text = table.text();
  for (const std::string& note : outcome.notes) text += note + "\n";
  for (const std::string& failure : outcome.failures) text += "failed: " + failure;
  return text;
}

}  // namespace tutti::bench
