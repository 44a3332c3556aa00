#include "tutti/plan/internal/interpreter.h"

#include <algorithm>

#include <fmt/format.h>

#include "tutti/plan/ranges.h"

namespace tutti::plan::internal {
namespace {

std::shared_ptr<const Clock> join(const Clock& a, const Clock* b) {
  auto joined = std::make_shared<Clock>(a);
  if (b != nullptr) {
    for (std::size_t i = 0; i < joined->size(); ++i) (*joined)[i] = std::max(a[i], (*b)[i]);
  }
  return joined;
}

bool overlap(std::int64_t a, std::int64_t b, std::int64_t count) {
  return a < b + count && b < a + count;
}

bool is_group_step(const Step& step) {
  return step.kind == StepKind::kHostBarrier || step.kind == StepKind::kVendor ||
         step.kind == StepKind::kLeaderReduce || step.kind == StepKind::kLeaderBroadcast ||
         step.kind == StepKind::kHostAllReduce;
}

}  // namespace

std::string describe(const Step& step) {
  static constexpr const char* kKinds[] = {
      "exchange",     "copy",          "reduce_mapped",    "reduce_local", "read_mapped",
      "host_barrier", "leader_reduce", "leader_broadcast", "vendor",       "host_all_reduce"};
  return fmt::format("{} (send {} to {}, receive {} from {}, group {})",
                     kKinds[static_cast<int>(step.kind)], step.source.count, step.send_to,
                     step.target.count, step.receive_from, step.group);
}

std::int64_t Memory::address(const Range& range) const {
  switch (range.space) {
    case Space::kInput: return input + range.begin;
    case Space::kOutput: return output + range.begin;
    default: return scratch + range.begin;
  }
}

Interpreter::Interpreter(const topo::Grid& grid, const std::vector<Plan>& plans,
                         std::vector<Memory> memories, const MemoryKind& kind, Report& report)
    : plans_(plans),
      memories_(std::move(memories)),
      element_bytes_(kind.element_bytes),
      is_library_memory_(kind.is_library),
      report_(report) {
  for (const Plan& plan : plans) {
    host_of_.push_back(grid.host_of(plan.rank));
    lanes_ = std::max(lanes_, static_cast<int>(plan.lanes.size()));
    keeps_clocks_ = keeps_clocks_ || plan.uses_mapped_memory() || plan.host_all_reduce() ||
                    plan.lanes.size() > 1 || plan.collective == Collective::kBarrier;
  }
  const std::size_t clock_size = keeps_clocks_ ? plans.size() * lanes_ : 0;
  for (const Plan& plan : plans) {
    for (int lane = 0; lane < lanes_; ++lane) {
      auto known = std::make_shared<Clock>(clock_size, 0);
      if (keeps_clocks_) (*known)[threads_.size()] = 1;
      Thread& thread = threads_.emplace_back();
      thread.rank = plan.rank;
      thread.lane = lane;
      thread.known = std::move(known);
    }
  }
}

Interpreter::Thread* Interpreter::thread_at(int rank, int lane) {
  return &threads_[static_cast<std::size_t>(rank) * lanes_ + lane];
}

const Step* Interpreter::step_of(const Thread& thread) const {
  const auto& lanes = plans_[thread.rank].lanes;
  if (thread.lane >= static_cast<int>(lanes.size())) return nullptr;
  const auto& steps = lanes[thread.lane].steps;
  return thread.next < steps.size() ? &steps[thread.next] : nullptr;
}

void Interpreter::run(unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<Thread*> active;
  for (Thread& thread : threads_) active.push_back(&thread);
  const auto is_done = [&](const Thread* thread) { return step_of(*thread) == nullptr; };
  while (true) {
    active.erase(std::remove_if(active.begin(), active.end(), is_done), active.end());
    if (active.empty()) break;
    std::shuffle(active.begin(), active.end(), random);
    bool moved = false;
    for (Thread* thread : active) {
      const bool waits = random() % 4 == 0;
      if (const Step* step = step_of(*thread); step != nullptr) {
        moved = waits || try_step(*thread, *step) || moved;
      }
    }
    if (!moved) report_deadlock();
  }
  for (const Thread& thread : threads_) report_.rounds = std::max(report_.rounds, thread.time);
  if (const std::string race = races_.find(lanes_); !race.empty()) throw Problem(race);
  if (plans_[0].collective == Collective::kBarrier) check_barrier();
}

void Interpreter::check_barrier() const {
  for (const Thread& thread : threads_) {
    const auto missing = std::find(thread.known->begin(), thread.known->end(), 0);
    if (missing == thread.known->end()) continue;
    fail(thread, fmt::format("leaves the barrier before rank {} has entered",
                             (missing - thread.known->begin()) / lanes_));
  }
}

bool Interpreter::try_step(Thread& thread, const Step& step) {
  switch (step.kind) {
    case StepKind::kExchange: return try_exchange(thread, step);
    case StepKind::kHostBarrier:
    case StepKind::kLeaderReduce:
    case StepKind::kLeaderBroadcast:
    case StepKind::kHostAllReduce:
    case StepKind::kVendor: return try_group_step(thread, step);
    case StepKind::kCopy: copy(thread, step, thread.rank); break;
    case StepKind::kReadMapped: copy(thread, step, step.receive_from); break;
    case StepKind::kReduceMapped: reduce_mapped(thread, step); break;
    case StepKind::kReduceLocal: reduce_local(thread, step); break;
  }
  advance(thread, nullptr);
  return true;
}

void Interpreter::advance(Thread& thread, std::shared_ptr<const Clock> learned) {
  if (keeps_clocks_) {
    auto known = std::const_pointer_cast<Clock>(join(*thread.known, learned.get()));
    ++(*known)[static_cast<std::size_t>(thread.rank) * lanes_ + thread.lane];
    thread.known = known;
  }
  ++thread.next;
}

bool Interpreter::try_exchange(Thread& thread, const Step& step) {
  bool moved = !thread.is_posted;
  if (!thread.is_posted) {
    thread.is_posted = true;
    thread.has_sent = step.send_to < 0;
    thread.has_received = step.receive_from < 0;
    thread.end = thread.time + 1;
    thread.learned = nullptr;
    ++report_.ranks[thread.rank].exchanges;
  }
  if (!thread.has_sent) moved = transfer(thread, *thread_at(step.send_to, thread.lane)) || moved;
  if (!thread.has_received) {
    moved = transfer(*thread_at(step.receive_from, thread.lane), thread) || moved;
  }
  if (!thread.has_sent || !thread.has_received) return moved;
  finish_exchange(thread, step);
  thread.is_posted = false;
  thread.time = thread.end;
  advance(thread, thread.learned);
  return true;
}

// Delivers the message between two threads once both have reached it.
bool Interpreter::transfer(Thread& from, Thread& to) {
  const Step* sending = step_of(from);
  const Step* receiving = step_of(to);
  if (!from.is_posted || !to.is_posted || from.has_sent || to.has_received) return false;
  if (sending->send_to != to.rank || receiving->receive_from != from.rank) return false;
  if (sending->source.count != receiving->target.count) {
    fail(from, fmt::format("sends {} elements to rank {}, which expects {}", sending->source.count,
                           to.rank, receiving->target.count));
  }
  const Symbol* source = access(from, from.rank, sending->source, false);
  to.arrived.assign(source, source + sending->source.count);
  to.learned = from.known;
  from.has_sent = to.has_received = true;
  from.end = to.end = std::max({from.end, to.end, from.time + 1, to.time + 1});
  const auto bytes = sending->source.count * static_cast<std::int64_t>(element_bytes_);
  RankTraffic& traffic = report_.ranks[from.rank];
  traffic.bytes_sent += bytes;
  traffic.bytes_along[sending->dimension] += bytes;
  if (host_of_[from.rank] != host_of_[to.rank]) {
    report_.host_bytes_sent[host_of_[from.rank]] += bytes;
    report_.host_bytes_received[host_of_[to.rank]] += bytes;
  }
  return true;
}

void Interpreter::finish_exchange(Thread& thread, const Step& step) {
  if (step.receive_from < 0) return;
  const Memory& memory = memories_[thread.rank];
  const std::int64_t source = memory.address(step.source);
  const std::int64_t target = memory.address(step.target);
  const bool is_same = source == target && step.source.count == step.target.count && step.reduce;
  if (step.send_to >= 0 && !is_same && source < target + step.target.count &&
      target < source + step.source.count) {
    fail(thread, "sends what it receives into");
  }
  Symbol* cells = access(thread, thread.rank, step.target, true);
  for (std::int64_t i = 0; i < step.target.count; ++i) {
    if (!step.reduce) {
      cells[i] = thread.arrived[i];
    } else {
      Symbol pair[] = {cells[i], thread.arrived[i]};
      if (step.arrived_first) std::swap(pair[0], pair[1]);
      cells[i] = fold(pair, step.completes);
    }
  }
}

// Runs a group step once all members of the group have reached it.
bool Interpreter::try_group_step(Thread& thread, const Step& step) {
  const auto& group = plans_[thread.rank].groups.at(step.group);
  std::vector<Thread*> members;
  for (const int rank : group) {
    Thread* member = thread_at(rank, thread.lane);
    const Step* its = step_of(*member);
    if (its == nullptr || its->kind != step.kind) return false;
    if (!is_group_step(*its) || plans_[rank].groups.at(its->group) != group) return false;
    members.push_back(member);
  }
  if (std::find(members.begin(), members.end(), &thread) == members.end()) {
    fail(thread, "runs a group step of a group it is not in");
  }
  if (step.kind == StepKind::kLeaderReduce || step.kind == StepKind::kLeaderBroadcast) {
    run_leader_step(members);
    return true;
  }
  if (step.kind == StepKind::kVendor) run_vendor(members);
  if (step.kind == StepKind::kHostAllReduce) run_on_host(members);
  std::shared_ptr<const Clock> all = members[0]->known;
  int time = 0;
  for (const Thread* member : members) {
    all = join(*all, member->known.get());
    time = std::max(time, member->time);
  }
  for (Thread* member : members) {
    member->time = time;
    advance(*member, all);
  }
  return true;
}

void Interpreter::copy(Thread& thread, const Step& step, int from) {
  if (step.source.count != step.target.count) fail(thread, "copies to a range of another size");
  if (from == thread.rank) {
    const std::int64_t source = memories_[from].address(step.source);
    const std::int64_t target = memories_[from].address(step.target);
    if (source == target) return;
    if (overlap(source, target, step.source.count)) fail(thread, "copies onto itself");
  } else {
    report_.ranks[thread.rank].bytes_mapped +=
        2 * step.source.count * static_cast<std::int64_t>(element_bytes_);
  }
  const Symbol* source = access(thread, from, step.source, false);
  Symbol* target = access(thread, thread.rank, step.target, true);
  std::copy(source, source + step.source.count, target);
}

void Interpreter::reduce_mapped(Thread& thread, const Step& step) {
  const auto& group = plans_[thread.rank].groups.at(step.group);
  std::vector<const Symbol*> sources;
  std::vector<Symbol*> targets;
  for (const int rank : group) sources.push_back(access(thread, rank, step.source, false));
  for (const int rank : step.store_to) {
    if (std::find(group.begin(), group.end(), rank) == group.end()) {
      fail(thread, "stores to a rank outside its group");
    }
    const Memory& memory = memories_[rank];
    const std::int64_t source = memory.address(step.source);
    const std::int64_t target = memory.address(step.target);
    if (source != target && overlap(source, target, step.source.count)) {
      fail(thread, "stores to a range that it reads");
    }
    targets.push_back(access(thread, rank, step.target, true));
  }
  std::vector<Symbol> values(sources.size());
  for (std::int64_t i = 0; i < step.source.count; ++i) {
    std::transform(sources.begin(), sources.end(), values.begin(),
                   [&](const Symbol* source) { return source[i]; });
    for (Symbol* target : targets) target[i] = fold(values, step.completes);
  }
  report_.ranks[thread.rank].bytes_mapped +=
      static_cast<std::int64_t>((sources.size() + targets.size()) * element_bytes_) *
      step.source.count;
}

void Interpreter::reduce_local(Thread& thread, const Step& step) {
  const std::int64_t count = step.target.count;
  if (step.source.count != step.parts * count) fail(thread, "reduces parts of another size");
  const Symbol* source = access(thread, thread.rank, step.source, false);
  Symbol* target = access(thread, thread.rank, step.target, true);
  std::vector<Symbol> values(step.parts);
  for (std::int64_t i = 0; i < count; ++i) {
    for (int p = 0; p < step.parts; ++p) values[p] = source[p * count + i];
    target[i] = fold(values, step.completes);
  }
}

// Updates the clocks after a leader_reduce or leader_broadcast. In the former, the root learns of the members it waited
// for; in the latter the members learn of the root. No other pair is ordered by these steps.
void Interpreter::run_leader_step(const std::vector<Thread*>& members) {
  const Step first = *step_of(*members[0]);
  const bool is_reduce = first.kind == StepKind::kLeaderReduce;
  Thread& root = *thread_at(first.receive_from, members[0]->lane);
  std::vector<const Symbol*> sources;
  for (const Thread* member : members) {
    const Step& step = *step_of(*member);
    if (step.receive_from != root.rank || step.source.count != first.source.count) {
      fail(*member, "disagrees with its group about a slot");
    }
    if (static_cast<std::size_t>(step.source.count) * element_bytes_ > kMaxSlotBytes) {
      fail(*member, "writes more than a slot holds");
    }
    if (is_reduce) sources.push_back(access(*member, member->rank, step.source, false));
  }
  if (!is_reduce) sources.push_back(access(root, root.rank, step_of(root)->source, false));
  std::shared_ptr<const Clock> learned = root.known;
  int time = root.time;
  for (const Thread* member : members) {
    if (is_reduce) learned = join(*learned, member->known.get());
    if (is_reduce) time = std::max(time, member->time);
  }
  std::vector<Symbol> values(sources.size());
  for (Thread* member : members) {
    if (is_reduce != (member == &root)) continue;
    Symbol* const target = access(*member, member->rank, step_of(*member)->target, true);
    for (std::int64_t i = 0; i < first.source.count; ++i) {
      std::transform(sources.begin(), sources.end(), values.begin(),
                     [&](const Symbol* source) { return source[i]; });
      target[i] = is_reduce ? fold(values, false) : values[0];
    }
    member->time = std::max(time, member->time);
  }
  for (Thread* member : members) {
    advance(*member, is_reduce == (member == &root) ? learned : nullptr);
  }
}

void Interpreter::run_vendor(const std::vector<Thread*>& members) {
  std::vector<std::vector<Symbol>> sources;
  for (const Thread* member : members) {
    const Range& range = step_of(*member)->source;
    const Symbol* cells = access(*member, member->rank, range, false);
    sources.emplace_back(cells, cells + range.count);
  }
  std::int64_t begin = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Step& step = *step_of(*members[m]);
    Symbol* target = access(*members[m], members[m]->rank, step.target, true);
    if (step.vendor_collective == Collective::kAllGather) {
      for (const auto& source : sources) target = std::copy(source.begin(), source.end(), target);
      continue;
    }
    std::vector<Symbol> values(members.size());
    for (std::int64_t i = 0; i < step.target.count; ++i) {
      for (std::size_t s = 0; s < sources.size(); ++s) values[s] = sources[s].at(begin + i);
      target[i] = fold(values, step.completes);
    }
    if (step.vendor_collective == Collective::kReduceScatter) begin += step.counts.at(m);
  }
}

// Runs a shared-memory all-reduce. Between the two waits of host_direct, each owner accesses its slice of the memory of
// all ranks. The other protocols access only each rank's own memory.
void Interpreter::run_on_host(const std::vector<Thread*>& members) {
  const Step first = *step_of(*members[0]);
  const auto& group = plans_[members[0]->rank].groups.at(first.group);
  for (const Thread* member : members) {
    const Step& step = *step_of(*member);
    if (step.protocol != first.protocol || step.fallback != first.fallback ||
        step.source.count != first.source.count || step.target.count != first.source.count) {
      fail(*member, "disagrees with its host about the protocol");
    }
    if (group.size() != plans_.size()) fail(*member, "leaves out ranks of other hosts");
  }
  const HostProtocol protocol = is_library_memory_ ? first.protocol : first.fallback;
  if (protocol != HostProtocol::kDirect) return reduce_privately(members, protocol);
  const int size = static_cast<int>(members.size());
  for (int m = 0; m < size; ++m) {
    Step reduction = first;
    reduction.source = split(first.source, size, m, element_bytes_);
    reduction.target = split(first.target, size, m, element_bytes_);
    reduction.store_to = group;
    reduce_mapped(*members[m], reduction);
  }
}

void Interpreter::reduce_privately(const std::vector<Thread*>& members, HostProtocol protocol) {
  const Step& first = *step_of(*members[0]);
  const auto size = static_cast<std::int64_t>(members.size());
  const std::int64_t bytes = first.source.count * static_cast<std::int64_t>(element_bytes_);
  if (protocol == HostProtocol::kEager && bytes > std::int64_t{kMaxSlotBytes}) {
    fail(*members[0], "writes more than a slot holds");
  }
  std::vector<std::vector<Symbol>> shown;
  for (const Thread* member : members) {
    const Symbol* cells = access(*member, member->rank, step_of(*member)->source, false);
    shown.emplace_back(cells, cells + first.source.count);
  }
  std::vector<Symbol> values(shown.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Step& step = *step_of(*members[m]);
    Symbol* target = access(*members[m], members[m]->rank, step.target, true);
    for (std::int64_t i = 0; i < step.target.count; ++i) {
      for (std::size_t s = 0; s < shown.size(); ++s) values[s] = shown[s][i];
      target[i] = fold(values, step.completes);
    }
    const Range own =
        split(step.target, static_cast<int>(size), static_cast<int>(m), element_bytes_);
    const std::int64_t own_bytes = own.count * static_cast<std::int64_t>(element_bytes_);
    // Staged: a rank writes the slices of the other owners to its stage, reduces its own slice into its output and its
    // stage, and copies the remaining slices from the stages of their owners.
    report_.ranks[members[m]->rank].bytes_mapped +=
        protocol == HostProtocol::kEager ? (size + 3) * bytes
                                         : 4 * (bytes - own_bytes) + (size + 2) * own_bytes;
  }
}

Symbol* Interpreter::access(const Thread& thread, int owner, const Range& range, bool is_write) {
  const Plan& plan = plans_[owner];
  if (owner != thread.rank && (host_of_[owner] != host_of_[thread.rank] || host_of_[owner] < 0)) {
    fail(thread, fmt::format("reaches into the memory of rank {} on another host", owner));
  }
  const Lane& lane = plan.lanes.at(thread.lane);
  Range bounds{Space::kScratch, 0, plan.scratch_count};
  if (range.space == Space::kInput) bounds = lane.input;
  if (range.space == Space::kOutput) bounds = lane.output;
  if (range.begin < bounds.begin || range.begin + range.count > bounds.begin + bounds.count) {
    fail(thread, fmt::format("uses [{}, +{}) of space {} of rank {}, whose lane has [{}, +{})",
                             range.begin, range.count, static_cast<int>(range.space), owner,
                             bounds.begin, bounds.count));
  }
  const std::int64_t address = memories_[owner].address(range);
  if (keeps_clocks_ && range.count > 0) {
    races_.add({owner, address, address + range.count, is_write, thread.rank * lanes_ + thread.lane,
                static_cast<int>(thread.next), thread.known});
  }
  return memories_[owner].cells.data() + address;
}

void Interpreter::fail(const Thread& thread, const std::string& what) const {
  const Step* step = step_of(thread);
  throw Problem(fmt::format("rank {} lane {} step {} {} at {}", thread.rank, thread.lane,
                            thread.next, what, step != nullptr ? describe(*step) : "its end"));
}

void Interpreter::report_deadlock() const {
  std::string text = "deadlock:";
  for (const Thread& thread : threads_) {
    if (const Step* step = step_of(thread); step != nullptr) {
      text += fmt::format("\n  rank {} lane {} step {}: {}", thread.rank, thread.lane, thread.next,
                          describe(*step));
    }
  }
  throw Problem(text);
}

}  // namespace tutti::plan::internal
