// Probes all hosts concurrently: their configuration, and the network between them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/launch/probe/matrix.h"
#include "tutti/launch/probe/report.h"
#include "tutti/launch/probe/session.h"

namespace tutti::launch {

struct HostFacts {
  std::string name = {};
  bool is_here = false;
  std::optional<Report> report = {};
  // Actual topology, if the report contains that of a topology file.
  std::optional<topo::Machine> real_machine = {};
  Failure failure = {};    // set if there is no report
  double clock_ahead = 0;  // lower bound in s; negative: behind
};

class HostProbe {
 public:
  // Starts `program --serve` on every host, as `user` (empty: the current one).
  HostProbe(const std::vector<std::string>& hosts, RemoteShell shell, std::string program,
            const std::string& user);

  // Reports in the order of the hosts. Hosts that do not reply within about 20 s have a failure instead.
  std::vector<HostFacts> ask_reports(const Question& question);

  // Connects all pairs of hosts that have a report in both directions and, with `seconds` > 0, measures the bandwidth
  // for that long. Uses the addresses by which the hosts know each other. With `only_ring` only neighbours are paired.
  // Links of hosts without a report stay empty.
  Matrix measure(const std::vector<HostFacts>& facts, double seconds, bool only_ring);

 private:
  std::vector<bool> is_here_;
  std::string program_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

// Network used by all routes between these hosts, and the first host's interface in it; empty if there is none or more
// than one.
Route common_route(const std::vector<HostFacts>& facts);

}  // namespace tutti::launch
