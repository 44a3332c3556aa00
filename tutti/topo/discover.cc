// Discovery of the machine with hwloc. The only file that uses hwloc.
#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "tutti/core/error.h"
#include "tutti/topo/identity.h"
#include "tutti/topo/internal/system.h"
#include "tutti/topo/machine.h"

namespace tutti::topo {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

CpuList list_of(hwloc_const_bitmap_t set) {
  CpuList cpus;
  if (!set || hwloc_bitmap_weight(set) < 0) return cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
    cpus.push_back(cpu);
  return cpus;
}

template <class Visit>
void for_each(hwloc_topology_t topology, hwloc_obj_type_t type, Visit visit) {
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
    visit(*object);
  }
}

// Index of the socket that contains `object` (with its cpuset); -1 if it spans several.
int socket_of(hwloc_topology_t topology, const hwloc_obj& object) {
  int socket = -1, index = 0;
  for_each(topology, HWLOC_OBJ_PACKAGE, [&](const hwloc_obj& package) {
    if (object.cpuset && !hwloc_bitmap_iszero(object.cpuset) &&
        hwloc_bitmap_isincluded(object.cpuset, package.cpuset)) {
      socket = index;
    }
    ++index;
  });
  return socket;
}

std::string info_of(const hwloc_obj& object, const char* key) {
  const char* const text = hwloc_obj_get_info_by_name(const_cast<hwloc_obj_t>(&object), key);
  return text ? text : "";
}

std::string cpu_model_of(hwloc_topology_t topology) {
  std::string model;
  const auto take = [&](const hwloc_obj& object) {
    if (model.empty()) model = info_of(object, "CPUModel");
  };
  for_each(topology, HWLOC_OBJ_PACKAGE, take);
  for_each(topology, HWLOC_OBJ_MACHINE, take);
  return model.empty() ? "unknown" : model;
}

// Adds a socket or core where the firmware reports none.
std::vector<Socket> sockets_of(hwloc_topology_t topology) {
  std::vector<Socket> sockets;
  for_each(topology, HWLOC_OBJ_PACKAGE, [&](const hwloc_obj&) { sockets.emplace_back(); });
  if (sockets.empty()) sockets.emplace_back();
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  for_each(topology, has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU, [&](const hwloc_obj& core) {
    const int socket = std::max(socket_of(topology, core), 0);
    sockets[socket].cores.push_back(list_of(core.cpuset));
  });
  return sockets;
}

std::vector<NumaNode> numa_nodes_of(hwloc_topology_t topology) {
  std::vector<NumaNode> nodes;
  for_each(topology, HWLOC_OBJ_NUMANODE, [&](const hwloc_obj& node) {
    nodes.push_back({.socket = socket_of(topology, node),
                     .cpus = list_of(node.cpuset),
                     .memory = static_cast<std::int64_t>(node.attr->numanode.local_memory)});
  });
  return nodes;
}

std::vector<Cache> caches_of(hwloc_topology_t topology) {
  static constexpr std::array kKinds = {HWLOC_OBJ_L1CACHE,  HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                        HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3CACHE,  HWLOC_OBJ_L4CACHE};
  std::map<std::tuple<int, std::string, std::int64_t, int>, int> counts;
  for (const hwloc_obj_type_t type : kKinds) {
    for_each(topology, type, [&](const hwloc_obj& cache) {
      const auto& attributes = cache.attr->cache;
      const char* const kind = attributes.type == HWLOC_OBJ_CACHE_DATA          ? "data"
                               : attributes.type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction"
                                                                                : "unified";
      ++counts[{static_cast<int>(attributes.depth), kind,
                static_cast<std::int64_t>(attributes.size),
                std::max(hwloc_bitmap_weight(cache.cpuset), 1)}];
    });
  }
  std::vector<Cache> caches;
  for (const auto& [key, count] : counts) {
    const auto& [level, kind, bytes, shared_by] = key;
    caches.push_back({level, kind, bytes, count, shared_by});
  }
  return caches;
}

// True for compute devices: not for display-only devices, nor for the CPU as an OpenCL device.
bool is_accelerator(const hwloc_obj& device) {
  const auto type = device.attr->osdev.type;
  const std::string backend = info_of(device, "Backend");
  if (type == HWLOC_OBJ_OSDEV_COPROC) return info_of(device, "OpenCLDeviceType") != "CPU";
  return type == HWLOC_OBJ_OSDEV_GPU && !backend.empty() && backend != "GL";
}

std::int64_t memory_of(const hwloc_obj& device) {
  for (const char* key : {"CUDAGlobalMemorySize", "OpenCLGlobalMemorySize"}) {
    const std::string kibibytes = info_of(device, key);
    if (!kibibytes.empty()) return std::atoll(kibibytes.c_str()) * 1024;
  }
  return 0;
}

// A card may appear once per driver; its first name is used.
std::vector<Accelerator> accelerators_of(hwloc_topology_t topology) {
  std::vector<Accelerator> accelerators;
  std::set<hwloc_obj_t> cards;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology, device));) {
    if (!is_accelerator(*device)) continue;
    const bool has_card = device->parent->type == HWLOC_OBJ_PCI_DEVICE;
    if (has_card && !cards.insert(device->parent).second) continue;
    const std::string model = info_of(*device, "GPUModel");
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
    accelerators.push_back({.name = device->name ? device->name : "accelerator",
                            .model = model.empty() ? "unknown" : model,
                            .socket = near ? socket_of(topology, *near) : -1,
                            .memory = memory_of(*device)});
  }
  return accelerators;
}

Machine machine_of(hwloc_topology_t topology) {
  const hwloc_obj_t root = hwloc_get_root_obj(topology);
  Machine machine;
  machine.cpu_model = cpu_model_of(topology);
  machine.memory = static_cast<std::int64_t>(root->total_memory);
  machine.allowed_cpus = list_of(root->cpuset);
  machine.sockets = sockets_of(topology);
  machine.numa_nodes = numa_nodes_of(topology);
  machine.caches = caches_of(topology);
  machine.accelerators = accelerators_of(topology);
  return machine;
}

// `choose` selects the source of the topology.
template <class Choose>
Topology load(const std::string& from, Choose choose) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw MemoryError("DDL-2-20", "hwloc is out of memory.");
  Topology topology(raw);
  // The whole host, including CPUs that this process may not use; allowed_cpus lists the usable ones.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // Linux provides the same information as libpciaccess, which leaks memory; displays are not needed.
  for (const char* component : {"pci", "gl"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (choose(raw) != 0) {
    throw ConfigError("DDL-2-21",
                      fmt::format("hwloc cannot read {}. Try: lstopo -i {}.", from, from));
  }
  if (hwloc_topology_load(raw) != 0) {
    throw IoError("DDL-2-20", "hwloc cannot find the topology of this host. Try: lstopo.");
  }
  return topology;
}

// CPUs allowed by both the affinity mask and the cgroups.
CpuList allowed_cpus_of(hwloc_topology_t topology) {
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(),
                                                                          &hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(set.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_topology_cpuset(topology));
  return list_of(set.get());
}

}  // namespace

Machine discover_machine() {
  const Topology topology = load("", [](hwloc_topology_t) { return 0; });
  Machine machine = machine_of(topology.get());
  machine.name = this_host_identity().name;
  machine.allowed_cpus = allowed_cpus_of(topology.get());
  machine.cpu_quota = internal::cpu_quota();
  if (machine.accelerators.empty()) machine.accelerators = internal::accelerators_in();
  return machine;
}

Machine synthetic_machine(const std::string& description) {
  const Topology topology = load("'" + description + "'", [&](hwloc_topology_t raw) {
    return hwloc_topology_set_synthetic(raw, description.c_str());
  });
  Machine machine = machine_of(topology.get());
  machine.name = "synthetic";
  return machine;
}

namespace internal {

Machine machine_from_xml(const std::string& xml) {
  const Topology topology = load("this XML", [&](hwloc_topology_t raw) {
    return hwloc_topology_set_xmlbuffer(raw, xml.c_str(), static_cast<int>(xml.size()) + 1);
  });
  return machine_of(topology.get());
}

}  // namespace internal
}  // namespace tutti::topo
