#include "bench/allreduce/systems.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "bench/allreduce/launchers.h"
#include "bench/harness/testbed.h"
#include "tutti/core/error.h"
#include "tutti/os/cpus.h"
#include "tutti/os/environment.h"
#include "tutti/os/shell.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

enum class Role { kOurs, kBaseline, kBaselineOnRequest, kBound };

struct System {
  std::string name;
  Role role;
  std::string program;   // in libexec/tutti
  std::string launcher;  // must be in PATH, if not empty
  Launcher launch;
  std::string note;
};

// One row per system. A new baseline is a worker in bench/baselines and a row here.
const std::vector<System>& systems() {
  static const std::vector<System> table = {
      {"tutti", Role::kOurs, "worker_tutti", "mpirun.openmpi", launch_openmpi,
       "started like openmpi"},
      {"openmpi", Role::kBaseline, "baseline_openmpi", "mpirun.openmpi", launch_openmpi,
       "bound to cores; with more ranks than cores unbound and mpi_yield_when_idle"},
      {"mpich", Role::kBaseline, "baseline_mpich", "mpirun.mpich", launch_mpich,
       "bound to cores if there are enough"},
      {"gloo", Role::kBaseline, "baseline_gloo", "", launch_gloo,
       "TCP device, the faster of ring and bcube for each size"},
      {"openmpi-plain", Role::kBaselineOnRequest, "baseline_openmpi", "mpirun.openmpi",
       launch_openmpi_plain, "default settings of mpirun: idle ranks keep their cores"},
      {"openmpi-tuned", Role::kBaselineOnRequest, "baseline_openmpi", "mpirun.openmpi",
       launch_openmpi_tuned, "like openmpi, and malloc keeps freed memory"},
      {"mpich-tuned", Role::kBaselineOnRequest, "baseline_mpich", "mpirun.mpich",
       launch_mpich_tuned, "like mpich, and malloc keeps freed memory"},
      {"traffic", Role::kBound, "baseline_traffic", "", launch_directly,
       "in-place pass over private memory on every rank"},
  };
  return table;
}

const System& find(const std::string& name) {
  for (const System& system : systems())
    if (system.name == name) return system;
  throw ConfigError("DDL-8-32", fmt::format("Unknown system '{}'.", name));
}

}  // namespace

std::vector<std::string> baseline_names() {
  std::vector<std::string> names = default_baselines();
  for (const System& system : systems())
    if (system.role == Role::kBaselineOnRequest) names.push_back(system.name);
  return names;
}

std::vector<std::string> default_baselines() {
  std::vector<std::string> names;
  for (const System& system : systems())
    if (system.role == Role::kBaseline) names.push_back(system.name);
  return names;
}

Launch launch_of(const std::string& name, const AllreduceSettings& settings,
                 const fs::path& folder) {
  const System& system = find(name);
  const std::string program = os::prefix() / "libexec" / "tutti" / system.program;
  if (access(program.c_str(), X_OK) != 0) return {{}, program + " was not built"};
  if (!system.launcher.empty() &&
      os::find_program(system.launcher, os::own_environment()["PATH"]).empty())
    return {{}, system.launcher + " is not installed"};
  return {
      system.launch({settings, {program, folder.string()}, os::allowed_cpus(), testbed_script()}),
      ""};
}

std::string settings_note(const std::string& name) {
  return find(name).note;
}

}  // namespace tutti::bench
