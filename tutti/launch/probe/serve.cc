// `ddlrun --serve`: the remote end of a session.

#include <memory>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/launch/probe/link_probe.h"
#include "tutti/launch/probe/report.h"
#include "tutti/launch/probe/session.h"
#include "tutti/os/process_tree.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

// Requests arrive on standard input, so the secret does not appear on a command line.
auth::Secret secret_of(const Json& request) {
  const auto secret = auth::Secret::from_hex(request.at("secret").get<std::string>());
  if (!secret) throw ConfigError("DDL-3-36", "The request has a malformed secret.");
  return *secret;
}

std::string measured(const Json& request) {
  const LinkSpeed speed = probe_link(request.at("address"), request.at("port"), secret_of(request),
                                     request.at("seconds"));
  return Json{{"latency", speed.latency}, {"bandwidth", speed.bandwidth}, {"error", speed.error}}
      .dump();
}

// Ranks whose agents were killed may have left descendants, which inherited the secret.
int end_job(const Json& request) {
  constexpr double kSeconds = 2;
  const std::string secret = secret_of(request).to_hex();
  return os::kill_processes_with(std::string(auth::Secret::kVariable) + "=" + secret, kSeconds);
}

}  // namespace

void serve(std::istream& in, std::ostream& out, const std::string& version) {
  std::unique_ptr<LinkProbeServer> service;
  const auto answer = [&](const std::string& line) -> std::string {
    const Json request = Json::parse(line);
    const std::string what = request.at("do");
    if (what == "report") return to_json(make_report(parse_question(line), version));
    if (what == "measure") return measured(request);
    if (what == "end") return Json{{"killed", end_job(request)}}.dump();
    if (what == "listen") {
      service = std::make_unique<LinkProbeServer>(secret_of(request), request.at("addresses"));
      return Json{{"ports", service->ports()}}.dump();
    }
    return Json{{"error", "unknown request " + what}}.dump();
  };
  for (std::string line; std::getline(in, line);) {
    try {
      out << answer(line) << std::endl;
    } catch (const std::exception& error) {
      out << Json{{"error", error.what()}}.dump() << std::endl;
    }
  }
}

}  // namespace tutti::launch
