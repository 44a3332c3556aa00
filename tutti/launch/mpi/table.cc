#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

#include "tutti/core/error.h"
#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {
namespace {

struct Signature {
  const char* text;  // text in the output of --version
  const char* launcher;
};

// Spectrum MPI and Intel MPI come before the implementations that they are derived from.
constexpr Signature kSignatures[] = {{"Spectrum MPI", "spectrum"}, {"Open MPI", "openmpi"},
                                     {"OpenRTE", "openmpi"},       {"Intel(R) MPI", "mpich"},
                                     {"HYDRA", "mpich"},           {"slurm", "srun"}};

// The first version number such as 4.1.4 at or after `begin`.
std::string version_in(std::string_view text, std::size_t begin) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    if (text.substr(at, end - at).find('.') != std::string_view::npos) {
      return std::string(text.substr(at, end - at));
    }
    at = end;
  }
  return "";
}

}  // namespace

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> table = {
      {"openmpi", "Open MPI", true, true, open_mpi_command},
      {"mpich", "MPICH", false, true, mpich_command},
      {"spectrum", "Spectrum MPI", true, true, spectrum_command},
      {"srun", "Slurm's srun", false, true, srun_command},
      {"none", "ddlrun itself", false, false, direct_command},
  };
  return table;
}

const Launcher& launcher_named(std::string_view name) {
  for (const Launcher& launcher : launchers()) {
    if (launcher.name == name) return launcher;
  }
  throw ConfigError("DDL-3-14", fmt::format("Unknown MPI '{}'.", name));
}

std::optional<Mpi> recognise(std::string_view text) {
  for (const Signature& signature : kSignatures) {
    const std::size_t at = text.find(signature.text);
    if (at == text.npos) continue;
    const std::size_t version = text.find("Version", at);
    return Mpi{&launcher_named(signature.launcher),
               version_in(text, version == text.npos ? at : version)};
  }
  return std::nullopt;
}

int Mpi::major() const {
  return std::atoi(version.c_str());
}

std::string Mpi::title() const {
  return version.empty() ? launcher->title : launcher->title + " " + version;
}

std::string hosts_with_slots(const Start& start) {
  std::string text;
  for (const Host& host : start.hosts) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", host.name, host.slots);
  }
  return text;
}

Args with_program(Args arguments, const Start& start) {
  arguments.insert(arguments.end(), start.mpi_arguments.begin(), start.mpi_arguments.end());
  arguments.insert(arguments.end(), start.program.begin(), start.program.end());
  return arguments;
}

}  // namespace tutti::launch
