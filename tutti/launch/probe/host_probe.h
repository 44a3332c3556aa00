// Asking all hosts at once what they are, and letting them try the network between them.
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
  // What it really looks like, where the report has the shape of a topology file.
  std::optional<topo::Machine> real_machine = {};
  Failure failure = {};    // when there is no report
  double clock_ahead = 0;  // seconds that its clock is ahead of ours at least; negative: behind
};

class HostProbe {
 public:
  // Starts `program --serve` on every host, as `user` (empty: the current one).
  HostProbe(const std::vector<std::string>& hosts, RemoteShell shell, std::string program,
            const std::string& user);

  // In the order of the hosts. Hosts that do not answer within some 20 s have a failure.
  std::vector<HostFacts> ask_reports(const Question& question);

  // Lets all pairs of hosts that have a report connect both ways and, with `seconds` > 0, send for
  // so long. Addresses are those by which the hosts know each other. With `only_ring` only
  // neighbours. Links of hosts without a report stay empty.
  Matrix measure(const std::vector<HostFacts>& facts, double seconds, bool only_ring);

 private:
  std::vector<bool> is_here_;
  std::string program_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

// The network that all routes between these hosts use, and the interface of the first host in it;
// empty when there is none or several.
Route common_route(const std::vector<HostFacts>& facts);

}  // namespace tutti::launch
