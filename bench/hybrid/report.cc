#include <fmt/format.h>

#include "bench/harness/table.h"
#include "bench/hybrid/contest.h"

namespace tutti::bench {
namespace {

// The strategy that reached the target first; empty: none.
std::string winner(const HybridOutcome& outcome, bool is_slow) {
  std::string best;
  double seconds = 0;
  for (const auto& [what, turn] : outcome)
    if (what.second == is_slow && turn.seconds_to_target >= 0 &&
        (best.empty() || turn.seconds_to_target < seconds)) {
      best = what.first;
      seconds = turn.seconds_to_target;
    }
  return best;
}

}  // namespace

std::vector<Row> rows_of(const HybridSettings& settings, const HybridOutcome& outcome) {
  std::vector<Row> rows;
  for (const auto& [what, turn] : outcome) {
    const nlohmann::ordered_json fields = {{"ranks", settings.ranks},
                                           {"slowness", what.second ? settings.slowness : 1.0},
                                           {"target", settings.target},
                                           {"hosts", settings.on_testbed ? settings.ranks : 1},
                                           {"rounds", settings.rounds}};
    rows.push_back({"hybrid", what.first, "updates", turn.updates_per_second, "1/s", fields});
    rows.push_back({"hybrid", what.first, "speed", turn.samples_per_second, "images/s", fields});
    if (turn.seconds_to_target >= 0)
      rows.push_back({"hybrid", what.first, "time_to_loss", turn.seconds_to_target, "s", fields});
  }
  return rows;
}

std::string text_of(const HybridSettings& settings, const HybridOutcome& outcome) {
  Table table({"ranks", "strategy", "updates/s", "images/s",
               fmt::format("to loss {}", settings.target), "fastest to slowest", "last loss"});
  auto time_text = [](double seconds) {
    return seconds >= 0 ? format_seconds(seconds) : std::string("not reached");
  };
  std::string troubles;
  for (bool is_slow : {false, true}) {
    for (const std::string& strategy : settings.strategies) {
      const auto found = outcome.find({strategy, is_slow});
      if (found == outcome.end()) continue;
      const HybridTurn& turn = found->second;
      table.add(
          {is_slow ? fmt::format("{}, one rank {} times slower", settings.ranks, settings.slowness)
                   : std::to_string(settings.ranks),
           strategy, format_digits(turn.updates_per_second), format_digits(turn.samples_per_second),
           time_text(turn.seconds_to_target),
           fmt::format("{} to {}", time_text(turn.fastest), time_text(turn.slowest)),
           fmt::format("{:.3f}", turn.last_loss)});
      if (!turn.trouble.empty()) troubles += fmt::format("failed: {}:\n{}", strategy, turn.trouble);
    }
    table.add_gap();
  }
  std::string text = table.text();
  for (bool is_slow : {false, true})
    if (const std::string first = winner(outcome, is_slow); !first.empty())
      text += fmt::format("{}: {} is the first.\n",
                          is_slow ? "With a slow rank" : "With equal ranks", first);
  return text + troubles;
}

}  // namespace tutti::bench
