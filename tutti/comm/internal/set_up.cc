#include "tutti/comm/internal/set_up.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "tutti/core/error.h"
#include "tutti/os/cpus.h"

namespace tutti::comm {
namespace {

template <class T>
std::string to_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
T from_bytes(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

topo::HostIdentity identity_of(const Transport& transport) {
  topo::HostIdentity identity = topo::this_host_identity();
  identity.name = transport.host_name();
  // Thread-ranks emulate the hosts that the test configures.
  if (transport.ranks_are_threads()) identity.host_id = "thread-" + identity.name;
  return identity;
}

int first_rank_of_next_host(const topo::Layout& layout, int rank) {
  const std::size_t hosts = layout.hosts.size();
  for (std::size_t h = 0; h < hosts; ++h) {
    const std::vector<int>& here = layout.hosts[h].ranks;
    if (std::find(here.begin(), here.end(), rank) == here.end()) continue;
    const std::vector<int>& there = layout.hosts[(h + 1) % hosts].ranks;
    return *std::min_element(there.begin(), there.end());
  }
  return rank;
}

// Sent by each rank of a host to the others during set-up.
struct HostHello {
  MemoryHandle control_block;  // set by the rank that created it
  MemoryHandle arena;
  cpu_set_t cores;
};

}  // namespace

// Round 1 exchanges host identities and the handles of the arenas. Round 2 exchanges which memories each rank could
// map.
topo::Layout SetUp::find_layout() {
  const topo::HostIdentity mine = identity_of(*job_.transport);
  const auto hellos = exchange(to_bytes(job_.arena->directory()) + topo::to_text(mine));
  std::vector<topo::HostIdentity> identities;
  for (const std::string& hello : hellos) {
    identities.push_back(topo::parse_identity(hello.substr(sizeof(MemoryHandle))));
  }
  if (is_world()) {
    job_.recorder.set_job_name(std::to_string(from_bytes<MemoryHandle>(hellos[0]).pid));
  }
  std::string reached(hellos.size(), '0');
  for (std::size_t peer = 0; peer < hellos.size(); ++peer) {
    if (topo::sharing_key(identities[peer]) != topo::sharing_key(mine)) continue;
    std::unique_ptr<PeerArena> arena;
    if (PeerArena::open(from_bytes<MemoryHandle>(hellos[peer]), &arena)) reached[peer] = '1';
  }
  const auto reach = exchange(reached);
  return topo::make_layout(identities, [&](int a, int b) { return reach[a][b] == '1'; });
}

topo::Grid SetUp::make_grid(const topo::Layout& layout) {
  // The configured dimensions describe the whole job; other communicators determine their own.
  topo::Grid grid = topo::make_grid(
      layout, {.sizes = is_world() ? job_.mode.dimensions : std::vector<int>{}}, job_.links);
  // Checked here, so dimensions that do not fit fail with the same message on every rank, before a rank frees memory
  // that another is about to open.
  if (!is_world()) return grid;
  if (layout.hosts.size() > 1) agree_on_secret();
  job_.routes.improve(layout, job_.options, job_.secret);
  return grid;
}

void SetUp::agree_on_secret() {
  job_.secret = job_.transport->secret();
  if (job_.secret) return;
  const std::string text = exchange(rank_ == 0 ? auth::Secret::generate().to_hex() : "")[0];
  job_.secret = auth::Secret::from_hex(text);
}

// The first rank of each host creates the control block, the others map it.
std::unique_ptr<HostGroup> SetUp::join_host(const topo::Layout& layout,
                                            StallHandler& stall_handler) {
  std::vector<int> members;
  for (const topo::Host& candidate : layout.hosts) {
    if (std::find(candidate.ranks.begin(), candidate.ranks.end(), rank_) != candidate.ranks.end()) {
      members = candidate.ranks;
    }
  }
  std::sort(members.begin(), members.end());
  const int count = static_cast<int>(members.size());
  std::shared_ptr<SharedMemory> memory;
  if (members[0] == rank_) memory = SharedMemory::create(HostControlBlock::bytes_for(count));
  const auto hellos =
      exchange(to_bytes(HostHello{.control_block = memory ? memory->handle() : MemoryHandle{},
                                  .arena = job_.arena->directory(),
                                  .cores = os::affinity_of()}));
  if (!memory)
    SharedMemory::open(from_bytes<HostHello>(hellos[members[0]]).control_block, &memory)
        .throw_if_error();
  std::vector<std::unique_ptr<PeerArena>> arenas(members.size());
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto hello = from_bytes<HostHello>(hellos[members[i]]);
    PeerArena::open(hello.arena, &arenas[i]).throw_if_error();
    CPU_OR(&cores, &cores, &hello.cores);
  }
  const int index =
      static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
  const bool are_threads = job_.transport->ranks_are_threads();
  const int waiting = are_threads ? static_cast<int>(ranks_.size()) : count;
  auto host = std::make_unique<HostGroup>(
      members, index, HostControlBlock(std::move(memory), count), *job_.arena, std::move(arenas),
      WaitPolicy::for_ranks(waiting, CPU_COUNT(&cores)), stall_handler);
  join_keepalive_ring(layout, index == 0);
  return host;
}

// Connects the first ranks of the hosts. The other ranks take part in the exchange, because the creator of the control
// block must not continue, and perhaps fail, before all ranks have mapped it.
void SetUp::join_keepalive_ring(const topo::Layout& layout, bool is_first_of_host) {
  const bool joins = is_world() && is_first_of_host && layout.hosts.size() > 1 &&
                     !job_.transport->ranks_are_threads() && job_.options.flag("keepalive");
  const auto addresses = exchange(
      joins ? job_.monitor.open_keepalive_ring(*job_.secret, job_.options.text("interface")) : "");
  if (!joins) return;
  const int next = first_rank_of_next_host(layout, rank_);
  job_.monitor.join_keepalive_ring(ranks_[next], addresses[next]);
}

std::vector<std::string> SetUp::exchange(const std::string& mine) {
  if (is_world()) return job_.transport->exchange(mine);
  return exchange_between(job_, router_, rank_, 0, mine);
}

std::vector<std::string> exchange_between(Job& job, Router& router, int rank, int channel,
                                          const std::string& mine) {
  const int count = router.size();
  std::vector<std::string> all(count);
  // All-to-all: groups are small, and this happens only when one is created.
  std::vector<std::uint64_t> sizes(count);
  const std::uint64_t size = mine.size();
  std::vector<std::unique_ptr<Transfer>> sends, receives;
  const auto finish = [&](std::vector<std::unique_ptr<Transfer>>& transfers) {
    for (auto& transfer : transfers) {
      for (bool finished = false; !finished;) {
        transfer->test(&finished).throw_if_error();
        if (finished) continue;
        job.monitor.failure().throw_if_error();
        std::this_thread::yield();
      }
    }
    transfers.clear();
  };
  for (int peer = 0; peer < count; ++peer) {
    if (peer == rank) continue;
    sends.push_back(router.send(peer, channel, &size, sizeof size));
    receives.push_back(router.receive(peer, channel, &sizes[peer], sizeof size));
  }
  finish(receives);
  for (int peer = 0; peer < count; ++peer) {
    if (peer == rank) continue;
    all[peer].resize(sizes[peer]);
    if (size > 0) sends.push_back(router.send(peer, channel, mine.data(), mine.size()));
    if (sizes[peer] > 0)
      receives.push_back(router.receive(peer, channel, all[peer].data(), sizes[peer]));
  }
  finish(receives);
  finish(sends);
  all[rank] = mine;
  return all;
}

}  // namespace tutti::comm
