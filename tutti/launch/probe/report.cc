#include "tutti/launch/probe/report.h"

#include <sys/statvfs.h>

#include <cstdlib>
#include <filesystem>

#include "tutti/core/clock.h"
#include "tutti/launch/mpi/launcher.h"
#include "tutti/os/environment.h"
#include "tutti/os/shell.h"
#include "tutti/topo/identity.h"

namespace tutti::launch {
namespace {

constexpr double kVersionSeconds = 10;

std::string mpi_title(const Question& question) {
  if (question.mpi_program.empty()) return "";
  const std::string program = os::find_program(question.mpi_program, question.path);
  if (program.empty()) return "";
  const auto mpi =
      recognise(os::run({.arguments = {program, "--version"}}, kVersionSeconds).output);
  return mpi ? mpi->title() : "";
}

std::int64_t free_bytes(const char* folder) {
  struct statvfs state{};
  if (::statvfs(folder, &state) != 0) return 0;
  return static_cast<std::int64_t>(state.f_bavail) * static_cast<std::int64_t>(state.f_frsize);
}

Route find_route(const std::string& peer) {
  const auto address = resolve(peer);
  if (!address) return {};
  const auto interface = route_to(*address);
  if (!interface) return {*address};
  return {*address, interface->address.text(), interface->name, interface->network()};
}

}  // namespace

Report make_report(const Question& question, const std::string& version) {
  Report report{.name = os::host_name(),
                .identity = topo::sharing_key(topo::this_host_identity()),
                .version = version,
                .mpi = mpi_title(question),
                .machine = topo::discover_machine(),
                .shared_memory = free_bytes("/dev/shm")};
  const char* const temporary = std::getenv("TMPDIR");
  report.temporary_folder = temporary && *temporary ? temporary : "/tmp";
  report.temporary_space = free_bytes(report.temporary_folder.c_str());
  std::error_code ignored;
  report.has_folder =
      question.folder.empty() || std::filesystem::is_directory(question.folder, ignored);
  const std::filesystem::path folder = question.folder;
  const auto in_folder = [&](const std::string& name) { return (folder / name).string(); };
  if (!question.program.empty()) {
    const bool is_path = question.program.find('/') != question.program.npos;
    report.program =
        os::find_program(is_path ? in_folder(question.program) : question.program, question.path);
  }
  for (const std::string& file : question.files) {
    if (!std::filesystem::exists(in_folder(file), ignored)) report.missing_files.push_back(file);
  }
  report.free_port = find_free_port(question.port);
  report.port_is_busy = question.port > 0 && report.free_port == 0;
  if (report.free_port == 0) report.free_port = find_free_port(0);
  for (const std::string& peer : question.peers) report.routes[peer] = find_route(peer);
  report.clock_ns = wall_ns();
  return report;
}

}  // namespace tutti::launch
