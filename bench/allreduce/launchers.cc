#include "bench/allreduce/launchers.h"

#include <fmt/format.h>

#include "bench/harness/testbed.h"

namespace tutti::bench {
namespace {

using Args = std::vector<std::string>;

void append(Args& command, const Args& more) {
  command.insert(command.end(), more.begin(), more.end());
}

// All hosts of the testbed are on this machine, so their ranks share its cores.
bool is_oversubscribed(const LaunchTask& task) {
  return task.settings.ranks() > static_cast<int>(task.cores.size());
}

int host_of(const AllreduceSettings& settings, int rank) {
  return settings.map_by_node ? rank % settings.hosts : rank / settings.ranks_per_host;
}

int local_rank_of(const AllreduceSettings& settings, int rank) {
  return settings.map_by_node ? rank / settings.hosts : rank % settings.ranks_per_host;
}

std::string host_name(int host) {
  return fmt::format("host{}", host + 1);
}

// "host1:2,host2:2"
std::string host_list(const AllreduceSettings& settings, int slots) {
  std::string list;
  for (int host = 0; host < settings.hosts; ++host)
    list += fmt::format("{}{}:{}", host ? "," : "", host_name(host), slots);
  return list;
}

// Prefixes `command` with the command that runs it on a host of the testbed.
Args on_host(const LaunchTask& task, int host, const Args& command) {
  if (!task.settings.on_testbed) return command;
  Args result = Testbed::prefix(task.testbed, host_name(host));
  append(result, command);
  return result;
}

// Both MPIs allocate working memory of the message size for every large all-reduce. glibc maps and unmaps it each time,
// and the page faults cost as much as the operation. These settings keep the heap.
LaunchTask with_kept_heap(LaunchTask task) {
  task.worker.insert(task.worker.begin(),
                     {"env", "MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=1000000000000",
                      "MALLOC_TOP_PAD_=67108864"});
  return task;
}

std::vector<ProcessSpec> run_openmpi(const LaunchTask& task, const Args& placement) {
  const AllreduceSettings& settings = task.settings;
  Args command = {"mpirun.openmpi", "-np", std::to_string(settings.ranks())};
  append(command, placement);
  if (settings.on_testbed)
    append(command, {"--host", host_list(settings, settings.ranks_per_host), "--map-by",
                     settings.map_by_node ? "node" : "slot"});
  append(command, task.worker);
  return {{on_host(task, 0, command),
           {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}}};
}

}  // namespace

// Binds ranks to cores if every rank has one. Otherwise the scheduler places them, and idle ranks yield their core
// (mpi_yield_when_idle); without it an oversubscribed run spends its time in spin loops.
std::vector<ProcessSpec> launch_openmpi(const LaunchTask& task) {
  if (!is_oversubscribed(task)) return run_openmpi(task, {"--bind-to", "core"});
  return run_openmpi(task,
                     {"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"});
}

std::vector<ProcessSpec> launch_openmpi_plain(const LaunchTask& task) {
  // Without this option mpirun rejects more ranks than cores on one host.
  return run_openmpi(task, is_oversubscribed(task) ? Args{"--oversubscribe"} : Args{});
}

// Binds ranks to cores if every rank has one. Mapping by node is a host list with one slot each, which MPICH repeats.
std::vector<ProcessSpec> launch_mpich(const LaunchTask& task) {
  const AllreduceSettings& settings = task.settings;
  Args command = {"mpirun.mpich", "-np", std::to_string(settings.ranks())};
  if (!is_oversubscribed(task)) append(command, {"-bind-to", "core"});
  if (settings.on_testbed)
    append(command,
           {"-hosts", host_list(settings, settings.map_by_node ? 1 : settings.ranks_per_host)});
  append(command, task.worker);
  return {{on_host(task, 0, command), {}}};
}

std::vector<ProcessSpec> launch_directly(const LaunchTask& task) {
  const AllreduceSettings& settings = task.settings;
  std::vector<ProcessSpec> processes;
  for (int rank = 0; rank < settings.ranks(); ++rank) {
    Args command = {"env", fmt::format("RANK={}", rank),
                    fmt::format("WORLD_SIZE={}", settings.ranks()),
                    fmt::format("LOCAL_RANK={}", local_rank_of(settings, rank)),
                    fmt::format("LOCAL_WORLD_SIZE={}", settings.ranks_per_host)};
    append(command, task.worker);
    ProcessSpec spec{on_host(task, host_of(settings, rank), command), {}};
    if (!is_oversubscribed(task)) spec.cpus = {task.cores[static_cast<std::size_t>(rank)]};
    processes.push_back(std::move(spec));
  }
  return processes;
}

std::vector<ProcessSpec> launch_gloo(const LaunchTask& task) {
  std::vector<ProcessSpec> processes = launch_directly(task);
  for (int rank = 0; rank < task.settings.ranks(); ++rank)
    processes[static_cast<std::size_t>(rank)].arguments.push_back(
        task.settings.on_testbed ? host_name(host_of(task.settings, rank)) : "127.0.0.1");
  return processes;
}

std::vector<ProcessSpec> launch_openmpi_tuned(const LaunchTask& task) {
  return launch_openmpi(with_kept_heap(task));
}

std::vector<ProcessSpec> launch_mpich_tuned(const LaunchTask& task) {
  return launch_mpich(with_kept_heap(task));
}

}  // namespace tutti::bench
