#include "tutti/runs/merge_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/runs/schema.h"

namespace tutti::runs {
namespace {

using Json = nlohmann::ordered_json;

// Operations of one rank; times in microseconds of the wall clock.
struct RankTrace {
  int rank = 0;
  std::string host;
  std::vector<Json> events;  // complete events ("ph": "X")
};

double end_of(const Json& event) {
  return event["ts"].get<double>() + event["dur"].get<double>();
}

// The file has one event per line. The last line may be incomplete if the rank died while writing.
RankTrace read_trace(std::istream& file) {
  RankTrace trace;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == ',') line.pop_back();
    const Json event = Json::parse(line, nullptr, false);
    if (event.is_discarded() || !event.is_object()) continue;
    if (event["ph"] == "M") {
      trace.rank = event["pid"];
      trace.host = event["args"]["host"];
    } else {
      trace.events.push_back(event);
    }
  }
  return trace;
}

RankTrace read_flight(std::istream& file) {
  const Json flight = Json::parse(file);
  RankTrace trace{.rank = flight["rank"], .host = flight["host"], .events = {}};
  for (Json operation : flight["operations"]) {
    const auto start = operation["start_ns"].get<std::int64_t>();
    const bool is_finished = operation.contains("end_ns");
    const std::int64_t end = is_finished ? operation["end_ns"].get<std::int64_t>()
                                         : flight["written_ns"].get<std::int64_t>();
    const std::string name = operation["collective"];
    Json event = {{"name", is_finished ? name : name + " (unfinished)"},
                  {"cat", "comm"},
                  {"ph", "X"},
                  {"ts", static_cast<double>(start) * 1e-3},
                  {"dur", static_cast<double>(end - start) * 1e-3},
                  {"pid", trace.rank},
                  {"tid", operation["communicator"]}};
    for (const char* key : {"collective", "start_ns", "end_ns"}) operation.erase(key);
    event["args"] = std::move(operation);
    trace.events.push_back(std::move(event));
  }
  return trace;
}

std::vector<RankTrace> read_folder(const std::filesystem::path& folder) {
  std::map<int, RankTrace> by_rank;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_trace = is_trace_file(name);
    if (!is_trace && !is_flight_file(name)) continue;
    std::ifstream file(entry.path());
    try {
      RankTrace trace = is_trace ? read_trace(file) : read_flight(file);
      if (trace.host.empty()) continue;  // the rank died before it wrote its first line
      if (is_trace || !by_rank.contains(trace.rank)) by_rank[trace.rank] = std::move(trace);
    } catch (const nlohmann::json::exception& wrong) {
      throw IoError("DDL-8-60", fmt::format("{} is not a file of a run directory: {}.",
                                            entry.path().string(), wrong.what()));
    }
  }
  if (by_rank.empty()) {
    throw IoError("DDL-8-61",
                  fmt::format("There are no traces or flight records in {}. Run with the option "
                              "trace 1 and run_folder set to it.",
                              folder.string()));
  }
  std::vector<RankTrace> traces;
  for (auto& [rank, trace] : by_rank) traces.push_back(std::move(trace));
  return traces;
}

// End times of the barriers of communicator 0, by sequence number.
std::map<std::int64_t, double> barrier_ends(const RankTrace& trace) {
  std::map<std::int64_t, double> ends;
  for (const Json& event : trace.events) {
    if (event["name"] == "barrier" && event["tid"] == 0) {
      ends[event["args"]["sequence"].get<std::int64_t>()] = end_of(event);
    }
  }
  return ends;
}

// Offset of the clock of each host relative to the host of the first rank, in microseconds; empty if no barrier was
// completed by all ranks. The ranks of a host share a clock; the first of them to leave the barrier counts.
std::map<std::string, double> clock_offsets(const std::vector<RankTrace>& traces) {
  std::map<std::int64_t, std::size_t> seen;
  for (const RankTrace& trace : traces) {
    for (const auto& [sequence, end] : barrier_ends(trace)) ++seen[sequence];
  }
  const auto common = std::find_if(
      seen.rbegin(), seen.rend(), [&](const auto& entry) { return entry.second == traces.size(); });
  if (common == seen.rend()) return {};
  std::map<std::string, double> left;
  for (const RankTrace& trace : traces) {
    const double end = barrier_ends(trace).at(common->first);
    const auto [host, is_new] = left.try_emplace(trace.host, end);
    if (!is_new) host->second = std::min(host->second, end);
  }
  const double reference = left.at(traces.front().host);
  for (auto& [host, end] : left) end -= reference;
  return left;
}

}  // namespace

int merge_traces(const std::filesystem::path& folder, std::ostream& out) {
  std::vector<RankTrace> traces = read_folder(folder);
  const auto offsets = clock_offsets(traces);
  double first = std::numeric_limits<double>::max();
  for (RankTrace& trace : traces) {
    const auto offset = offsets.find(trace.host);
    for (Json& event : trace.events) {
      if (offset != offsets.end()) event["ts"] = event["ts"].get<double>() - offset->second;
      first = std::min(first, event["ts"].get<double>());
    }
  }
  const char* separator = "\n";
  const auto write = [&](const Json& event) { out << std::exchange(separator, ",\n") << event; };
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  for (RankTrace& trace : traces) {
    const std::string name = fmt::format("rank {} on {}", trace.rank, trace.host);
    write({{"name", "process_name"}, {"ph", "M"}, {"pid", trace.rank}, {"args", {{"name", name}}}});
    write({{"name", "process_sort_index"},
           {"ph", "M"},
           {"pid", trace.rank},
           {"args", {{"sort_index", trace.rank}}}});
    std::set<std::int64_t> communicators;
    for (Json& event : trace.events) {
      const auto communicator = event["tid"].get<std::int64_t>();
      if (communicators.insert(communicator).second) {
        write({{"name", "thread_name"},
               {"ph", "M"},
               {"pid", trace.rank},
               {"tid", communicator},
               {"args", {{"name", fmt::format("communicator {}", communicator)}}}});
      }
      event["ts"] = event["ts"].get<double>() - first;
      write(event);
    }
  }
  out << "\n]}\n";
  return static_cast<int>(traces.size());
}

}  // namespace tutti::runs
