#include "tutti/launch/probe/host_probe.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tutti/auth/secret.h"
#include "tutti/core/error.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

constexpr double kReportSeconds = 20;
constexpr double kMeasureSeconds = 20;

double clock_ahead(const Answer& answer, const Report& report) {
  if (report.clock_ns > answer.answered_ns) {
    return static_cast<double>(report.clock_ns - answer.answered_ns) * 1e-9;
  }
  if (report.clock_ns < answer.asked_ns) {
    return static_cast<double>(report.clock_ns - answer.asked_ns) * 1e-9;
  }
  return 0;
}

LinkSpeed parse_link_speed(const Answer& answer) {
  if (!answer.is_there) return {.error = "the host no longer answers"};
  const Json json = Json::parse(answer.line, nullptr, false);
  if (json.is_discarded() || !json.contains("latency")) {
    return {.error = json.value("error", "its answer cannot be read")};
  }
  return {json.at("latency"), json.at("bandwidth"), json.at("error")};
}

// For each host, the addresses by which the others reach it.
std::vector<std::set<std::string>> addresses_of_each(const std::vector<std::string>& names,
                                                     const std::vector<const Report*>& reports) {
  std::vector<std::set<std::string>> addresses(names.size());
  for (const Report* report : reports) {
    for (std::size_t to = 0; to < names.size(); ++to) {
      const auto route = report->routes.find(names[to]);
      const bool is_known = report != reports[to] && route != report->routes.end();
      if (is_known && !route->second.address.empty()) addresses[to].insert(route->second.address);
    }
  }
  return addresses;
}

// Starts a link probe server on every host; returns its ports by address.
std::vector<std::map<std::string, int>> listen_on_all(
    const std::vector<Session*>& sessions, const std::vector<std::set<std::string>>& addresses,
    const std::string& secret) {
  std::vector<std::string> lines;
  for (const auto& own : addresses) {
    lines.push_back(Json{{"do", "listen"}, {"secret", secret}, {"addresses", own}}.dump());
  }
  const std::vector<Answer> answers = ask(sessions, lines, kMeasureSeconds);
  std::vector<std::map<std::string, int>> ports(sessions.size());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const Json json = Json::parse(answers[i].is_there ? answers[i].line : "{}", nullptr, false);
    if (!json.is_object() || !json.contains("ports")) continue;
    std::size_t at = 0;
    for (const std::string& address : addresses[i]) {
      if (at < json["ports"].size()) ports[i][address] = json["ports"][at++];
    }
  }
  return ports;
}

}  // namespace

HostProbe::HostProbe(const std::vector<std::string>& hosts, RemoteShell shell, std::string program,
                     const std::string& user)
    : program_(std::move(program)) {
  for (const std::string& host : hosts) {
    is_here_.push_back(is_this_host(host));
    sessions_.push_back(std::make_unique<Session>(
        host, serve_command(host, is_here_.back(), shell, program_, user)));
  }
}

std::vector<HostFacts> HostProbe::ask_reports(const Question& question) {
  std::vector<Session*> all;
  for (const auto& session : sessions_) all.push_back(session.get());
  const std::vector<Answer> answers =
      ask(all, std::vector<std::string>(all.size(), to_json(question)), kReportSeconds);
  std::vector<HostFacts> facts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    HostFacts host{.name = all[i]->host(), .is_here = is_here_[i]};
    try {
      if (answers[i].is_there) host.report = parse_report(answers[i].line);
    } catch (const Error& error) {
      host.failure = {"DDL-3-36",
                      fmt::format("{} sent a malformed reply: {}", host.name, error.what())};
    }
    if (host.report) host.clock_ahead = clock_ahead(answers[i], *host.report);
    if (!answers[i].is_there) host.failure = explain(host.name, answers[i], program_);
    facts.push_back(std::move(host));
  }
  return facts;
}

Matrix HostProbe::measure(const std::vector<HostFacts>& facts, double seconds, bool only_ring) {
  std::vector<std::string> names;
  std::vector<Session*> sessions;
  std::vector<const Report*> reports;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (!facts[i].report) continue;
    names.push_back(facts[i].name);
    sessions.push_back(sessions_[i].get());
    reports.push_back(&*facts[i].report);
  }
  Matrix matrix(names);
  const int count = static_cast<int>(names.size());
  if (count < 2) return matrix;
  const std::string secret = auth::Secret::generate().to_hex();
  const std::vector<std::map<std::string, int>> ports =
      listen_on_all(sessions, addresses_of_each(names, reports), secret);
  // The lower host of each pair sends first, then the higher.
  const auto half = [&](const Round& round, bool is_back) {
    std::vector<Session*> senders;
    std::vector<std::string> lines;
    for (const auto& [low, high] : round) {
      const auto from = static_cast<std::size_t>(is_back ? high : low);
      const auto to = static_cast<std::size_t>(is_back ? low : high);
      const auto route = reports[from]->routes.find(names[to]);
      const std::string address = route == reports[from]->routes.end() ? "" : route->second.address;
      const auto port = ports[to].find(address);
      senders.push_back(sessions[from]);
      lines.push_back(Json{
          {"do", "measure"},
          {"address", address},
          {"port", port == ports[to].end() ? 0 : port->second},
          {"secret", secret},
          {"seconds",
           seconds}}.dump());
    }
    const std::vector<Answer> answers = ask(senders, lines, kMeasureSeconds);
    for (std::size_t i = 0; i < round.size(); ++i) {
      const auto from = static_cast<std::size_t>(is_back ? round[i].second : round[i].first);
      const auto to = static_cast<std::size_t>(is_back ? round[i].first : round[i].second);
      matrix.links[from][to] = parse_link_speed(answers[i]);
    }
  };
  for (const Round& round : only_ring ? ring(count) : round_robin_schedule(count)) {
    half(round, false);
    half(round, true);
  }
  return matrix;
}

Route common_route(const std::vector<HostFacts>& facts) {
  std::set<std::string> networks;
  Route first;
  for (const HostFacts& host : facts) {
    if (!host.report) continue;
    for (const HostFacts& peer : facts) {
      const auto route = host.report->routes.find(peer.name);
      if (&peer == &host || route == host.report->routes.end()) continue;
      networks.insert(route->second.network);
      if (first.network.empty()) first = route->second;
    }
  }
  return networks.size() == 1 ? first : Route{};
}

}  // namespace tutti::launch
