#include "tutti/runs/schema.h"

#include <fmt/format.h>

#include <regex>

namespace tutti::runs {

std::string events_file(int rank) {
  return rank < 0 ? "events-launcher.jsonl" : fmt::format("events-rank{}.jsonl", rank);
}

std::string flight_file(int rank) {
  return fmt::format("flight-rank{}.json", rank);
}

std::string trace_file(int rank) {
  return fmt::format("trace-rank{}.json", rank);
}

bool is_flight_file(std::string_view name) {
  return name.starts_with("flight-rank");
}

bool is_trace_file(std::string_view name) {
  return name.starts_with("trace-rank");
}

bool is_job_file(const std::string& name) {
  static const std::regex known(
      R"(RANKFILE|topology|command|hosts-by-rank|(mpirun|ddlrun|rank-\d+)\.log|)"
      R"(events-(launcher|rank\d+)\.jsonl|(flight|trace)-rank\d+\.json)");
  return std::regex_match(name, known);
}

}  // namespace tutti::runs
