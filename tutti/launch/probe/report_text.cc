// JSON encoding of questions and reports.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/launch/probe/report.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

template <class Read>
auto checked(const std::string& text, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw ConfigError(
        "DDL-3-36",
        fmt::format("Malformed reply '{}' of ddlrun ({}). Install the same version on all hosts.",
                    text.substr(0, 200), error.what()));
  }
}

// Names of hosts and files need not be valid UTF-8.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Question& question) {
  return dumped({{"do", "report"},
                 {"path", question.path},
                 {"folder", question.folder},
                 {"program", question.program},
                 {"files", question.files},
                 {"mpi_program", question.mpi_program},
                 {"peers", question.peers},
                 {"port", question.port}});
}

Question parse_question(const std::string& text) {
  return checked(text, [](const Json& json) {
    return Question{.path = json.at("path"),
                    .folder = json.at("folder"),
                    .program = json.at("program"),
                    .files = json.at("files"),
                    .mpi_program = json.at("mpi_program"),
                    .peers = json.at("peers"),
                    .port = json.at("port")};
  });
}

std::string to_json(const Report& report) {
  Json routes = Json::object();
  for (const auto& [peer, route] : report.routes) {
    routes[peer] = {{"address", route.address},
                    {"own", route.own},
                    {"interface", route.interface},
                    {"network", route.network}};
  }
  return dumped({{"name", report.name},
                 {"identity", report.identity},
                 {"version", report.version},
                 {"mpi", report.mpi},
                 {"machine", topo::to_text(report.machine)},
                 {"clock_ns", report.clock_ns},
                 {"shared_memory", report.shared_memory},
                 {"temporary_folder", report.temporary_folder},
                 {"temporary_space", report.temporary_space},
                 {"has_folder", report.has_folder},
                 {"program", report.program},
                 {"missing_files", report.missing_files},
                 {"free_port", report.free_port},
                 {"port_is_busy", report.port_is_busy},
                 {"routes", routes}});
}

Report parse_report(const std::string& text) {
  return checked(text, [](const Json& json) {
    Report report{.name = json.at("name"),
                  .identity = json.at("identity"),
                  .version = json.at("version"),
                  .mpi = json.at("mpi"),
                  .machine = topo::parse_machine(json.at("machine").get<std::string>()),
                  .clock_ns = json.at("clock_ns"),
                  .shared_memory = json.at("shared_memory"),
                  .temporary_folder = json.at("temporary_folder"),
                  .temporary_space = json.at("temporary_space"),
                  .has_folder = json.at("has_folder"),
                  .program = json.at("program"),
                  .missing_files = json.at("missing_files"),
                  .free_port = json.at("free_port"),
                  .port_is_busy = json.at("port_is_busy")};
    for (const auto& [peer, route] : json.at("routes").items()) {
      report.routes[peer] = {route.at("address"), route.at("own"), route.at("interface"),
                             route.at("network")};
    }
    return report;
  });
}

}  // namespace tutti::launch
