// Host lists of Slurm, LSF and PBS: one row per scheduler.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "tutti/core/error.h"
#include "tutti/launch/hosts/hosts.h"
#include "tutti/launch/hosts/node_list.h"

namespace tutti::launch {
namespace {

[[noreturn]] void reject(const std::string& variable, const std::string& why) {
  throw ConfigError("DDL-3-07",
                    fmt::format("{} cannot be read: {}. Name the hosts with -H.", variable, why));
}

int parse_count(const std::string& variable, const std::string& text) {
  const bool is_number = !text.empty() && text.size() < 8 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number || text.find_first_not_of('0') == text.npos) {
    reject(variable, fmt::format("'{}' is not a number of ranks", text));
  }
  return std::stoi(text);
}

// Hosts in the order of their first occurrence, with one slot per occurrence.
class SlotCounter {
 public:
  void add(const std::string& name, int slots) {
    const auto [found, is_new] = index_.try_emplace(name, hosts_.size());
    if (is_new) hosts_.push_back({name, 0});
    hosts_[found->second].slots += slots;
  }
  std::vector<Host> take() { return std::move(hosts_); }

 private:
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> index_;
};

std::vector<Host> read_slot_file(const std::string& variable, const std::string& path) {
  std::ifstream file(path);
  if (!file) reject(variable, "no such file: " + path);
  SlotCounter counter;
  for (std::string name; file >> name;) counter.add(name, 1);
  std::vector<Host> hosts = counter.take();
  if (hosts.empty()) reject(variable, path + " lists no host");
  return hosts;
}

// "4(x2),3": 4, 4, 3.
std::vector<int> parse_tasks_per_node(const std::string& text) {
  std::vector<int> counts;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    const std::size_t open = piece.find("(x");
    int times = 1;
    if (open != piece.npos) {
      if (!piece.ends_with(')')) reject("SLURM_TASKS_PER_NODE", "'" + piece + "' is incomplete");
      times = parse_count("SLURM_TASKS_PER_NODE", piece.substr(open + 2, piece.size() - open - 3));
    }
    const int count = parse_count("SLURM_TASKS_PER_NODE", piece.substr(0, open));
    counts.insert(counts.end(), static_cast<std::size_t>(std::min(times, 1 << 16)), count);
  }
  return counts;
}

std::vector<Host> from_slurm(const os::Getenv& getenv) {
  const char* nodes = getenv("SLURM_JOB_NODELIST");
  if (!nodes) nodes = getenv("SLURM_NODELIST");
  if (!nodes) return {};
  std::vector<Host> hosts;
  for (std::string& name : expand_node_list(nodes, "SLURM_JOB_NODELIST")) {
    hosts.push_back({std::move(name), 0});
  }
  // Without -n Slurm reports one task per node, which is unrelated to the number of ranks.
  const char* const tasks = getenv("SLURM_TASKS_PER_NODE");
  if (!tasks || !getenv("SLURM_NTASKS")) return hosts;
  const std::vector<int> counts = parse_tasks_per_node(tasks);
  if (counts.size() != hosts.size()) {
    reject("SLURM_TASKS_PER_NODE", fmt::format("it lists {} hosts, SLURM_JOB_NODELIST lists {}",
                                               counts.size(), hosts.size()));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].slots = counts[i];
  return hosts;
}

// Some LSF clusters list a host that only runs the script before the compute hosts.
void drop_launch_host(std::vector<Host>* hosts) {
  const bool is_launch_host =
      hosts->size() > 1 && hosts->front().slots == 1 &&
      (hosts->front().name.starts_with("batch") || hosts->front().name.starts_with("login"));
  if (is_launch_host) hosts->erase(hosts->begin());
}

std::vector<Host> from_lsf(const os::Getenv& getenv) {
  std::vector<Host> hosts;
  if (const char* const pairs = getenv("LSB_MCPU_HOSTS")) {
    std::istringstream words(pairs);
    SlotCounter counter;
    for (std::string name, slots; words >> name;) {
      if (!(words >> slots)) reject("LSB_MCPU_HOSTS", "it ends after " + name);
      counter.add(name, parse_count("LSB_MCPU_HOSTS", slots));
    }
    hosts = counter.take();
  } else if (const char* const path = getenv("LSB_DJOB_HOSTFILE")) {
    hosts = read_slot_file("LSB_DJOB_HOSTFILE", path);
  }
  drop_launch_host(&hosts);
  return hosts;
}

std::vector<Host> from_pbs(const os::Getenv& getenv) {
  const char* const path = getenv("PBS_NODEFILE");
  return path ? read_slot_file("PBS_NODEFILE", path) : std::vector<Host>{};
}

struct Scheduler {
  const char* name;
  std::vector<Host> (*hosts)(const os::Getenv&);
};

constexpr Scheduler kSchedulers[] = {{"Slurm", from_slurm}, {"LSF", from_lsf}, {"PBS", from_pbs}};

}  // namespace

std::optional<Allocation> find_allocation(const os::Getenv& getenv) {
  for (const Scheduler& scheduler : kSchedulers) {
    std::vector<Host> hosts = scheduler.hosts(getenv);
    if (!hosts.empty()) return Allocation{scheduler.name, std::move(hosts)};
  }
  return std::nullopt;
}

}  // namespace tutti::launch
