#include "tutti/comm/transport/mpi/mpi_environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

struct Launcher {
  const char* name;
  const char* rank_variable;
  const char* size_variable;  // nullptr: does not say
};

// First match wins: a launcher that sits on top of another one comes first.
constexpr Launcher kMpiLaunchers[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"mpirun of MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"mpirun of MPICH", "PMI_RANK", "PMI_SIZE"},
    // Not SLURM_NTASKS: a batch script has that too, and a program started in it is alone.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"a PMIx launcher", "PMIX_RANK", nullptr},
};

int parse_number(const char* variable, std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  throw ConfigError("DDL-6-14", fmt::format("{}={} is not a number of a rank or of ranks: unset it "
                                            "or let the launcher set it.",
                                            variable, text));
}

std::optional<JobEnvironment> read(const Getenv& getenv, const Launcher& launcher, JobKind kind) {
  const char* const rank = getenv(launcher.rank_variable);
  const char* const size = launcher.size_variable ? getenv(launcher.size_variable) : nullptr;
  if (!rank || (launcher.size_variable && !size)) return std::nullopt;
  JobEnvironment job{kind, launcher.name, parse_number(launcher.rank_variable, rank),
                     size ? parse_number(launcher.size_variable, size) : -1};
  if (!size || job.rank < job.size) return job;
  throw ConfigError(
      "DDL-6-15", fmt::format("{}={} but {}={}: ranks count from 0 to one less than their number.",
                              launcher.rank_variable, rank, launcher.size_variable, size));
}

}  // namespace

JobEnvironment find_job(const Getenv& getenv) {
  std::optional<JobEnvironment> job;
  for (const Launcher& launcher : kMpiLaunchers) {
    if (!job) job = read(getenv, launcher, JobKind::kMpi);
  }
  const auto local = read(getenv, {"RANK and WORLD_SIZE", "RANK", "WORLD_SIZE"}, JobKind::kLocal);
  const bool agree =
      job && local && job->rank == local->rank && (job->size == local->size || job->size < 0);
  if (local && !agree) job = local;
  if (!job) return {};
  if (job->size == 1) job->kind = JobKind::kAlone;
  return *job;
}

JobEnvironment find_job() {
  return find_job([](const char* variable) -> const char* { return std::getenv(variable); });
}

const std::vector<MpiSetting>& mpi_settings() {
  static const std::vector<MpiSetting> settings = {
      {"OMPI_MCA_btl_vader_single_copy_mechanism", "none",
       "reading a peer's memory needs ptrace rights, which containers deny, with a message per "
       "send; "
       "local ranks use our shared memory anyway"},
      {"OMPI_MCA_btl_base_warn_component_unused", "0",
       "a machine without InfiniBand is not worth a warning per rank"},
      {"OMPI_MCA_mpi_warn_on_fork", "0", "data loaders fork, and their children do not use MPI"},
  };
  return settings;
}

void apply_mpi_settings() {
  for (const MpiSetting& setting : mpi_settings()) setenv(setting.variable, setting.value, 0);
}

}  // namespace tutti::comm
