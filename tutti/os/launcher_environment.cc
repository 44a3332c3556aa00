#include "tutti/os/launcher_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "tutti/core/error.h"

namespace tutti::os {
namespace {

// Columns: name, then the variables with rank, size, local rank and local size.
// Order: under Slurm, mpirun starts its daemons with srun, so srun comes after the MPI libraries. Open MPI and srun may
// also set PMIX_RANK, so PMIx comes last.
constexpr LauncherVariables kMpiLaunchers[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE"},
    {"mpirun of MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun of MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // Not SLURM_NTASKS: batch scripts have it too, and a program that a script starts without srun is a single process.
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
    {"a PMIx launcher", "PMIX_RANK", nullptr, nullptr, nullptr},
};
constexpr LauncherVariables kTorchrun = {"RANK and WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK",
                                         "LOCAL_WORLD_SIZE"};

// Prefixes of the variables that mpirun and mpiexec set for their ranks.
constexpr std::array kMpiPrefixes = {
    "OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix",  "OMPI_APP_",
    "OMPI_FILE_",       "OMPI_FIRST_",    "OMPI_NUM_",    "OMPI_UNIVERSE_", "OMPI_ARGV",
    "OMPI_COMMAND",     "PMIX_",          "PMI_",         "HYDI_",          "MPI_LOCAL"};

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<int> number_of(const Getenv& getenv, const char* variable) {
  const char* const text = variable ? getenv(variable) : nullptr;
  return text ? parse_number(text) : std::nullopt;
}

int checked_number(const char* variable, const char* text) {
  if (const auto number = parse_number(text); number && *number >= 0) return *number;
  throw ConfigError(
      "DDL-6-14",
      fmt::format("{}={} is not a rank or a number of ranks: unset it, or let the launcher set it.",
                  variable, text));
}

std::optional<JobEnvironment> read_job(const Getenv& getenv, const LauncherVariables& launcher,
                                       JobKind kind) {
  const char* const rank = getenv(launcher.rank);
  const char* const size = launcher.size ? getenv(launcher.size) : nullptr;
  if (!rank || (launcher.size && !size)) return std::nullopt;
  JobEnvironment job{kind, launcher.name, checked_number(launcher.rank, rank),
                     size ? checked_number(launcher.size, size) : -1};
  if (!size || job.rank < job.size) return job;
  throw ConfigError(
      "DDL-6-15", fmt::format("{}={} but {}={}: ranks count from 0 to one less than their number.",
                              launcher.rank, rank, launcher.size, size));
}

std::optional<RankIdentity> read_rank(const Getenv& getenv, const LauncherVariables& launcher) {
  const auto rank = number_of(getenv, launcher.rank), size = number_of(getenv, launcher.size);
  if (!rank || !size) return std::nullopt;
  return RankIdentity{*rank, *size, number_of(getenv, launcher.local_rank).value_or(0),
                      number_of(getenv, launcher.local_size).value_or(1)};
}

}  // namespace

std::span<const LauncherVariables> mpi_launchers() {
  return kMpiLaunchers;
}

JobEnvironment find_job(const Getenv& getenv) {
  std::optional<JobEnvironment> job;
  for (const LauncherVariables& launcher : kMpiLaunchers) {
    if (!job) job = read_job(getenv, launcher, JobKind::kMpi);
  }
  const auto local = read_job(getenv, kTorchrun, JobKind::kLocal);
  const bool agree =
      job && local && job->rank == local->rank && (job->size == local->size || job->size < 0);
  if (local && !agree) job = local;
  if (!job) return {};
  if (job->size == 1) job->kind = JobKind::kAlone;
  return *job;
}

std::optional<RankIdentity> find_rank(const Getenv& getenv) {
  for (const LauncherVariables& launcher : kMpiLaunchers) {
    if (const auto identity = read_rank(getenv, launcher)) return identity;
  }
  return read_rank(getenv, kTorchrun);
}

Environment torch_variables(const RankIdentity& identity) {
  return {{kTorchrun.rank, fmt::format("{}", identity.rank)},
          {kTorchrun.size, fmt::format("{}", identity.size)},
          {kTorchrun.local_rank, fmt::format("{}", identity.local_rank)},
          {kTorchrun.local_size, fmt::format("{}", identity.local_size)}};
}

void unset_rank_variables() {
  const auto unset = [](const LauncherVariables& launcher) {
    for (const char* name :
         {launcher.rank, launcher.size, launcher.local_rank, launcher.local_size}) {
      if (name) ::unsetenv(name);
    }
  };
  std::ranges::for_each(kMpiLaunchers, unset);
  unset(kTorchrun);
}

bool is_mpi_rank_variable(std::string_view name) {
  return std::ranges::any_of(kMpiPrefixes,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

}  // namespace tutti::os
