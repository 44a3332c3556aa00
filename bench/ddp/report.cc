#include "bench/ddp/report.h"

#include <fmt/format.h>

#include "bench/harness/table.h"
#include "tutti/core/bytes.h"

namespace tutti::bench {
namespace {

// The case of Gloo that a case of Tutti is compared with.
DdpCase baseline_of(const DdpCase& ours) {
  const bool is_step = ours.kind == "step";
  return {"gloo", ours.kind, is_step ? ours.subject : "caller",
          is_step && ours.variant != "local" ? "sync" : ours.variant};
}

std::string ratio_text(double theirs, double ours) {
  return theirs > 0 && ours > 0 ? fmt::format("{:.2f}x", theirs / ours) : "";
}

std::string name_of(const DdpCase& which) {
  if (which.kind == "reduce") {
    return fmt::format("all_reduce {}", format_bytes(std::stoll(which.variant)));
  }
  return fmt::format("{} step", which.subject);
}

std::string variant_text(const DdpCase& which) {
  if (which.kind == "reduce") return which.subject + " memory";
  if (which.variant == "sync") return "";
  return which.variant == "local" ? "no communication" : which.variant + " between hosts";
}

Row row_of(const DdpSettings& settings, const DdpCase& which, std::string metric, double value,
           std::string unit) {
  Row row{"ddp", which.system, std::move(metric), value, std::move(unit)};
  row.fields = {{"ranks", settings.ranks()},
                {"hosts", settings.hosts},
                {"ranks_per_host", settings.ranks_per_host}};
  if (settings.on_testbed) {
    row.fields["map_by"] = settings.map_by_node ? "node" : "slot";
    row.fields["deal"] = row.fields["map_by"];  // deprecated name
    row.fields["link_gigabits"] = settings.link_gigabits;
  }
  if (which.kind == "reduce") {
    row.fields["bytes"] = std::stoll(which.variant);
    row.fields["memory"] = which.subject;
  } else {
    row.fields["model"] = which.subject;
    row.fields["variant"] = which.variant;
    row.fields["way"] = which.variant;  // deprecated name
  }
  return row;
}

bool communicates(const DdpCase& which) {
  return which.kind == "step" && which.variant != "local";
}

}  // namespace

std::string text_of(const DdpSettings& settings, const DdpOutcome& outcome) {
  Table table({"case", "system", "", "median", "quartiles", "vs gloo", "exposed", "vs gloo"});
  std::string last;
  const auto add = [&](const DdpCase& which) {
    const Summary* seconds = outcome.find(which);
    if (!seconds) return;
    const Summary* theirs = which.system == "ddl" ? outcome.find(baseline_of(which)) : nullptr;
    const double exposed =
        communicates(which) ? outcome.exposed(which.system, which.subject, which.variant) : -1;
    const double their_exposed =
        theirs && exposed >= 0 ? outcome.exposed("gloo", which.subject, "sync") : -1;
    if (!last.empty() && last != name_of(which)) table.add_gap();
    last = name_of(which);
    table.add({last, which.system, variant_text(which), format_seconds(seconds->median),
               fmt::format("{} .. {}", format_seconds(seconds->low), format_seconds(seconds->high)),
               theirs ? ratio_text(theirs->median, seconds->median) : "",
               exposed >= 0 ? format_seconds(exposed) : "", ratio_text(their_exposed, exposed)});
  };
  // All cases of one name together, of both systems.
  const auto ours = cases_of(settings, "ddl");
  const auto theirs = cases_of(settings, "gloo");
  for (std::size_t i = 0; i < ours.size(); ++i) {
    add(ours[i]);
    const bool is_last_of_name = i + 1 == ours.size() || name_of(ours[i + 1]) != name_of(ours[i]);
    for (const DdpCase& which : theirs) {
      if (is_last_of_name && name_of(which) == name_of(ours[i])) add(which);
    }
  }
  std::string text = table.text();
  for (const std::string& failure : outcome.failures) text += failure + "\n";
  return text;
}

std::vector<Row> rows_of(const DdpSettings& settings, const DdpOutcome& outcome) {
  std::vector<Row> rows;
  for (const auto& [which, seconds] : outcome.seconds) {
    Row row = row_of(settings, which, "time", seconds.median * 1e6, "us");
    row.fields["low"] = seconds.low * 1e6;
    row.fields["high"] = seconds.high * 1e6;
    row.fields["samples"] = seconds.samples;
    rows.push_back(row);
    const double exposed =
        communicates(which) ? outcome.exposed(which.system, which.subject, which.variant) : -1;
    if (exposed >= 0)
      rows.push_back(row_of(settings, which, "exposed_communication", exposed * 1e6, "us"));
    const Summary* theirs = which.system == "ddl" ? outcome.find(baseline_of(which)) : nullptr;
    if (!theirs) continue;
    rows.push_back(row_of(settings, which, "ratio", theirs->median / seconds.median, "x"));
    set_baseline(rows.back(), "gloo");
  }
  return rows;
}

}  // namespace tutti::bench
