#include "bench/allreduce/systems.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

fs::path own_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

// The build tree and the installation have the same shape: bin/tutti and libexec/tutti/peer_*.
std::string worker_program(const std::string& name) {
  return (own_folder().parent_path() / "libexec" / "tutti" / name).lexically_normal().string();
}

bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

std::vector<int> usable_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

// What a launch function is given.
struct Task {
  const AllreduceSettings& settings;
  std::string program, folder;
  std::vector<int> cores;

  int ranks() const { return settings.ranks(); }
  // Every host of the testbed is this machine, so its ranks share these cores too.
  bool is_oversubscribed() const { return ranks() > static_cast<int>(cores.size()); }
  int host_of(int rank) const {
    return settings.deal_by_node ? rank % settings.hosts : rank / settings.ranks_per_host;
  }
  int local_rank_of(int rank) const {
    return settings.deal_by_node ? rank / settings.hosts : rank % settings.ranks_per_host;
  }
};

std::string host_name(int host) {
  return fmt::format("host{}", host + 1);
}

// Puts `words` behind what runs them on a host of the testbed.
Words on_host(const Task& task, int host, Words words) {
  if (!task.settings.on_testbed) return words;
  fs::path script = (own_folder() / "../../scripts/testbed").lexically_normal();
  Words result = {script.string(), "exec", host_name(host), "--"};
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

// One process per rank, told who it is through the environment. On one host with a core for every
// rank each is pinned to its own, as the MPIs do.
std::vector<ProcessSpec> launch_directly(const Task& task, const Words& arguments) {
  std::vector<ProcessSpec> processes;
  for (int rank = 0; rank < task.ranks(); ++rank) {
    Words words = {"env",
                   fmt::format("RANK={}", rank),
                   fmt::format("WORLD_SIZE={}", task.ranks()),
                   fmt::format("LOCAL_RANK={}", task.local_rank_of(rank)),
                   fmt::format("LOCAL_WORLD_SIZE={}", task.settings.ranks_per_host),
                   task.program,
                   task.folder};
    words.insert(words.end(), arguments.begin(), arguments.end());
    ProcessSpec spec{on_host(task, task.host_of(rank), words), {}};
    if (!task.is_oversubscribed()) spec.cores = {task.cores[static_cast<std::size_t>(rank)]};
    processes.push_back(std::move(spec));
  }
  return processes;
}

// "host1:2,host2:2"
std::string host_list(const AllreduceSettings& settings, int slots) {
  std::string list;
  for (int host = 0; host < settings.hosts; ++host)
    list += fmt::format("{}{}:{}", host ? "," : "", host_name(host), slots);
  return list;
}

// Bound to cores where every rank has one. Otherwise left to the scheduler, and idle ranks give
// their core away (mpi_yield_when_idle), without which an oversubscribed run spends its time in
// waiting loops.
std::vector<ProcessSpec> launch_openmpi(const Task& task) {
  Words words = {"mpirun.openmpi", "-np", std::to_string(task.ranks())};
  if (task.is_oversubscribed()) {
    for (const char* word :
         {"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"})
      words.push_back(word);
  } else {
    for (const char* word : {"--bind-to", "core"}) words.push_back(word);
  }
  if (task.settings.on_testbed) {
    const char* dealing = task.settings.deal_by_node ? "node" : "slot";
    for (const std::string& word :
         {std::string("--host"), host_list(task.settings, task.settings.ranks_per_host),
          std::string("--map-by"), std::string(dealing)})
      words.push_back(word);
  }
  words.push_back(task.program);
  words.push_back(task.folder);
  return {
      {on_host(task, 0, words), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}}};
}

// Bound to cores where every rank has one. Dealing by node is a host list with one slot each, gone
// round repeatedly.
std::vector<ProcessSpec> launch_mpich(const Task& task) {
  Words words = {"mpirun.mpich", "-np", std::to_string(task.ranks())};
  if (!task.is_oversubscribed()) {
    words.push_back("-bind-to");
    words.push_back("core");
  }
  if (task.settings.on_testbed) {
    words.push_back("-hosts");
    words.push_back(
        host_list(task.settings, task.settings.deal_by_node ? 1 : task.settings.ranks_per_host));
  }
  words.push_back(task.program);
  words.push_back(task.folder);
  return {{on_host(task, 0, words), {}}};
}

std::vector<ProcessSpec> launch_gloo(const Task& task) {
  if (!task.settings.on_testbed) return launch_directly(task, {"127.0.0.1"});
  std::vector<ProcessSpec> processes = launch_directly(task, {});
  for (int rank = 0; rank < task.ranks(); ++rank)
    processes[static_cast<std::size_t>(rank)].arguments.push_back(host_name(task.host_of(rank)));
  return processes;
}

std::vector<ProcessSpec> launch_traffic(const Task& task) {
  return launch_directly(task, {});
}

// Ours starts like Open MPI's peer on several hosts, where it takes Open MPI as its engine.
std::vector<ProcessSpec> launch_tutti(const Task& task) {
  return launch_openmpi(task);
}

struct System {
  std::string name;
  bool is_peer;
  std::string program;   // in libexec/tutti
  std::string launcher;  // must be in PATH, where one is named
  std::vector<ProcessSpec> (*launch)(const Task&);
  std::string note;
};

const std::vector<System>& systems() {
  static const std::vector<System> table = {
      {"tutti", false, "worker_tutti", "mpirun.openmpi", launch_tutti,
       "started by mpirun like openmpi"},
      {"openmpi", true, "peer_openmpi", "mpirun.openmpi", launch_openmpi,
       "bound to cores; with more ranks than cores unbound and mpi_yield_when_idle"},
      {"mpich", true, "peer_mpich", "mpirun.mpich", launch_mpich,
       "bound to cores where there are enough"},
      {"gloo", true, "peer_gloo", "", launch_gloo,
       "TCP device; the faster of ring and bcube for each size"},
      {"traffic", false, "peer_traffic", "", launch_traffic,
       "in-place pass over private memory on every rank"},
  };
  return table;
}

const System& find(const std::string& name) {
  for (const System& system : systems())
    if (system.name == name) return system;
  throw ConfigError("DDL-8-32", fmt::format("No system is called '{}'.", name));
}

}  // namespace

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (const System& system : systems())
    if (system.is_peer) names.push_back(system.name);
  return names;
}

Launch launch_of(const std::string& name, const AllreduceSettings& settings,
                 const fs::path& folder) {
  const System& system = find(name);
  Task task{settings, worker_program(system.program), folder.string(), usable_cores()};
  if (access(task.program.c_str(), X_OK) != 0) return {{}, task.program + " was not built"};
  if (!system.launcher.empty() && !is_in_path(system.launcher))
    return {{}, system.launcher + " is not installed"};
  return {system.launch(task), ""};
}

std::string settings_note(const std::string& name) {
  return find(name).note;
}

}  // namespace tutti::bench
