// The text form of a machine, both ways.
#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/topo/internal/document.h"
#include "tutti/topo/machine.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo {
namespace {

using internal::clean_value;
using internal::Section;

const internal::Form& machine_form() {
  static const internal::Form kForm = {
      "machine",
      {{"", {"name", "memory"}, {"cpu_model", "allowed_cpus", "cpu_quota"}},
       {"socket", {"cores"}},
       {"numa_node", {"cpus", "memory"}, {"socket"}},
       {"cache", {"level", "bytes"}, {"kind", "count", "shared_by"}},
       {"accelerator", {"name"}, {"model", "socket", "memory"}}}};
  return kForm;
}

std::string optional_socket(int socket) {
  return socket < 0 ? "" : fmt::format("socket = {}\n", socket);
}

std::string socket_text(const Socket& socket) {
  std::string text = "\n[socket]\ncores =";
  for (const CpuList& core : socket.cores) text += " " + format_list(core);
  return text + (socket.cores.empty() ? " none\n" : "\n");
}

std::string cache_text(const Cache& cache) {
  return fmt::format("\n[cache]\nlevel = {}\nkind = {}\nbytes = {}\ncount = {}\nshared_by = {}\n",
                     cache.level, cache.kind, format_bytes(cache.bytes), cache.count,
                     cache.shared_by);
}

std::string accelerator_text(const Accelerator& accelerator) {
  std::string text = fmt::format("\n[accelerator]\nname = {}\nmodel = {}\n",
                                 clean_value(accelerator.name), clean_value(accelerator.model));
  text += optional_socket(accelerator.socket);
  if (accelerator.memory) text += fmt::format("memory = {}\n", format_bytes(accelerator.memory));
  return text;
}

NumaNode parse_numa_node(const Section& section) {
  return {.socket = section.has("socket") ? section.integer("socket") : -1,
          .cpus = section.list("cpus"),
          .memory = section.bytes("memory")};
}

Cache parse_cache(const Section& section) {
  Cache cache;
  cache.level = section.integer("level", 1);
  cache.bytes = section.bytes("bytes");
  if (section.has("kind")) cache.kind = section.choice("kind", {"data", "instruction", "unified"});
  if (section.has("count")) cache.count = section.integer("count", 1);
  if (section.has("shared_by")) cache.shared_by = section.integer("shared_by", 1);
  return cache;
}

Accelerator parse_accelerator(const Section& section) {
  Accelerator accelerator;
  accelerator.name = section.text("name");
  if (section.has("model")) accelerator.model = section.text("model");
  if (section.has("socket")) accelerator.socket = section.integer("socket");
  if (section.has("memory")) accelerator.memory = section.bytes("memory");
  return accelerator;
}

CpuList all_cpus(const Machine& machine) {
  CpuList cpus;
  for (const Socket& socket : machine.sockets) {
    for (const CpuList& core : socket.cores) cpus.insert(cpus.end(), core.begin(), core.end());
  }
  std::ranges::sort(cpus);
  return cpus;
}

void check(const Machine& machine, const std::string& source) {
  const CpuList cpus = all_cpus(machine);
  const auto reject = [&](const std::string& message) {
    throw ConfigError("DDL-2-05", fmt::format("{}: {}", source, message));
  };
  if (cpus.empty()) reject("the machine has no cores. Add a [socket] with a line cores = 0 1 2 3.");
  const auto twice = std::ranges::adjacent_find(cpus);
  if (twice != cpus.end()) reject(fmt::format("CPU {} is in two cores. List it once.", *twice));
  for (const int cpu : machine.allowed_cpus) {
    if (!std::ranges::binary_search(cpus, cpu)) {
      reject(fmt::format("allowed_cpus has CPU {}, but no core has it.", cpu));
    }
  }
  const auto check_socket = [&](int socket, const std::string& what) {
    if (socket >= static_cast<int>(machine.sockets.size())) {
      reject(fmt::format("{} is on socket {}, but the last socket is {}.", what, socket,
                         machine.sockets.size() - 1));
    }
  };
  for (const NumaNode& node : machine.numa_nodes) check_socket(node.socket, "a numa_node");
  for (const Accelerator& one : machine.accelerators) check_socket(one.socket, one.name);
}

}  // namespace

std::string to_text(const Machine& machine) {
  std::string text =
      fmt::format("tutti machine 1\nname = {}\ncpu_model = {}\nmemory = {}\nallowed_cpus = {}\n",
                  clean_value(machine.name), clean_value(machine.cpu_model),
                  format_bytes(machine.memory), format_list(machine.allowed_cpus));
  if (machine.cpu_quota > 0) text += fmt::format("cpu_quota = {}\n", machine.cpu_quota);
  for (const Socket& socket : machine.sockets) text += socket_text(socket);
  for (const NumaNode& node : machine.numa_nodes) {
    text += fmt::format("\n[numa_node]\ncpus = {}\nmemory = {}\n{}", format_list(node.cpus),
                        format_bytes(node.memory), optional_socket(node.socket));
  }
  for (const Cache& cache : machine.caches) text += cache_text(cache);
  for (const Accelerator& one : machine.accelerators) text += accelerator_text(one);
  return text;
}

Machine parse_machine(std::string_view text, const std::string& source) {
  const internal::Document document = internal::parse_document(text, source, machine_form());
  const Section& head = document.head;
  Machine machine;
  machine.name = head.text("name");
  machine.memory = head.bytes("memory");
  if (head.has("cpu_model")) machine.cpu_model = head.text("cpu_model");
  if (head.has("cpu_quota")) machine.cpu_quota = head.number("cpu_quota");
  for (const Section& section : document.sections) {
    if (section.name() == "socket") machine.sockets.push_back({section.lists("cores")});
    if (section.name() == "numa_node") machine.numa_nodes.push_back(parse_numa_node(section));
    if (section.name() == "cache") machine.caches.push_back(parse_cache(section));
    if (section.name() == "accelerator") machine.accelerators.push_back(parse_accelerator(section));
  }
  machine.allowed_cpus = head.has("allowed_cpus") ? head.list("allowed_cpus") : all_cpus(machine);
  check(machine, source);
  return machine;
}

}  // namespace tutti::topo
