#include "tutti/launch/mpi/find.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "tutti/core/error.h"
#include "tutti/os/process.h"
#include "tutti/os/shell.h"

namespace tutti::launch {
namespace {

constexpr std::array kNames = {"mpirun",  "mpirun.openmpi", "mpirun.mpich",
                               "mpiexec", "mpiexec.hydra",  "orterun"};
constexpr double kTimeout = 10;

// True for directories that are in PATH of a non-login shell.
bool is_in_system_folder(const std::string& program) {
  const std::string folder = program.substr(0, program.rfind('/'));
  return folder == "/usr/bin" || folder == "/bin" || folder == "/usr/local/bin";
}

std::optional<Mpi> look_at(const std::string& name, const MpiSearch& search,
                           const Answers& answers) {
  const std::string program = os::find_program(name, search.path);
  if (program.empty()) return std::nullopt;
  std::optional<Mpi> mpi = recognise(answers(program, "--version"));
  if (mpi) mpi->program = is_in_system_folder(program) ? name : program;
  return mpi;
}

std::optional<Mpi> look_at_srun(const MpiSearch& search, const Answers& answers) {
  std::optional<Mpi> mpi = look_at("srun", search, answers);
  if (!mpi) return mpi;
  const std::string plugins = answers(os::find_program("srun", search.path), "--mpi=list");
  mpi->plugin = plugins.find("pmix") != plugins.npos   ? "pmix"
                : plugins.find("pmi2") != plugins.npos ? "pmi2"
                                                       : "";
  return mpi;
}

[[noreturn]] void give_up(const MpiSearch& search) {
  const std::string what = search.wanted == "auto" ? "MPI" : launcher_named(search.wanted).title;
  throw ConfigError("DDL-3-13",
                    fmt::format("No {} was found in PATH. Install one (Debian: openmpi-bin), load "
                                "its module, or, for this machine alone, use --mpi none.",
                                what));
}

}  // namespace

std::string ask_program(const std::string& program, const std::string& argument) {
  const os::Outcome outcome = os::run({.arguments = {program, argument}}, kTimeout);
  return outcome.output + outcome.errors;
}

Mpi find_mpi(const MpiSearch& search, const Answers& answers) {
  if (search.wanted == "none") return {&launcher_named("none"), "", search.own_program};
  const std::string preferred = search.wanted == "auto" ? search.built_with : search.wanted;
  std::optional<Mpi> other;
  if (search.wanted != "srun") {
    for (const char* name : kNames) {
      std::optional<Mpi> mpi = look_at(name, search, answers);
      if (!mpi) continue;
      if (mpi->launcher->name == preferred || preferred.empty()) return *mpi;
      if (!other) other = std::move(mpi);
    }
  }
  if (other && search.wanted == "auto") return *other;
  if (search.wanted == "srun" || (search.wanted == "auto" && search.in_slurm)) {
    if (const auto mpi = look_at_srun(search, answers)) return *mpi;
  }
  give_up(search);
}

}  // namespace tutti::launch
