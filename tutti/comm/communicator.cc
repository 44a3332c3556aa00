#include "tutti/comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "tutti/comm/internal/calls.h"
#include "tutti/comm/internal/state.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/comm/tuning/tuner.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

// Logs a summary of the job before it runs.
void announce(const Communicator& communicator, const plan::Mode& mode, bool has_vendor) {
  for (const char letter : {'b', 'n'}) {
    if (!mode.has_letter(letter)) continue;
    log::info(
        "mode {}: these are collectives of host memory, so no device library is used: "
        "shared-memory kernels inside a host, ring between hosts.",
        letter);
  }
  if (mode.has_letter('m') && !has_vendor)
    log::info(
        "mode m: this job was started without MPI, so Tutti's collectives are used; start it with "
        "mpirun for those of MPI.");
  if (communicator.options().integer("dbg_level") < 1) return;
  std::istringstream lines(communicator.description());
  for (std::string line; std::getline(lines, line);) log::info("{}", line);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<CommunicatorState> state) : state_(std::move(state)) {}

// In a forked child the state is kept as it is: its threads exist only in the parent, and a leave notice would be sent
// in the name of the parent.
Communicator::~Communicator() {
  if (is_forked_child()) (void)state_.release();
}

bool Communicator::is_forked_child() const {
  return state_->fork_guard.is_child();
}

std::unique_ptr<Communicator> Communicator::create(std::shared_ptr<Transport> transport,
                                                   const Options& options) {
  std::vector<int> ranks(static_cast<std::size_t>(transport->size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const int rank = transport->rank();
  auto job = std::make_shared<Job>(std::move(transport), options);
  const int id = job->next_communicator++;
  std::unique_ptr<Communicator> communicator(new Communicator(
      std::make_unique<CommunicatorState>(std::move(job), std::move(ranks), rank, id)));
  communicator->state_->tune();
  communicator->state_->add_observers();
  if (rank == 0) {
    Job& running = *communicator->state_->job;
    announce(*communicator, running.mode, running.transport->vendor() != nullptr);
  }
  return communicator;
}

int Communicator::rank() const {
  return state_->rank;
}
int Communicator::size() const {
  return static_cast<int>(state_->ranks.size());
}
int Communicator::local_rank() const {
  return state_->host->index();
}
int Communicator::local_size() const {
  return state_->host->size();
}
const topo::Layout& Communicator::layout() const {
  return state_->layout;
}
const topo::Grid& Communicator::grid() const {
  return state_->grid;
}
const Options& Communicator::options() const {
  return state_->job->options;
}
void Communicator::check() const {
  state_->check();
}
void Communicator::abandon(const std::string& reason) {
  state_->fork_guard.require_parent();
  state_->job->monitor.abandon(Result::failure(
      ErrorKind::kComm, Monitor::kAbandoned,
      fmt::format("{} cannot continue: {}", state_->membership->name_of(rank()), reason)));
}
std::string Communicator::description() const {
  const std::string& tuning = state_->tuning;
  return state_->planner->description() + (tuning.empty() ? "" : "choices " + tuning + "\n");
}

void* Communicator::allocate(std::size_t bytes, std::size_t alignment, std::size_t* usable) {
  return state_->job->arena->allocate(bytes, alignment, usable);
}
void Communicator::free(void* address) {
  state_->job->arena->free(address);
}
std::shared_ptr<Arena> Communicator::arena() const {
  return state_->job->arena;
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  struct Wish {
    std::int64_t color, key, next_id;
  };
  const Wish mine{color, key, state_->job->next_communicator.load()};
  std::vector<Wish> wishes(static_cast<std::size_t>(size()));
  const auto bytes = static_cast<std::int64_t>(sizeof(Wish));
  all_gather({&mine, bytes, DType::kU8}, {wishes.data(), bytes * size(), DType::kU8}, {},
             {"split"});
  // Every colour gets an unused number; all ranks compute the same one.
  std::vector<std::int64_t> colors;
  std::int64_t first_id = 0;
  for (const Wish& wish : wishes) {
    if (wish.color >= 0) colors.push_back(wish.color);
    first_id = std::max(first_id, wish.next_id);
  }
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  state_->job->next_communicator =
      static_cast<int>(first_id + static_cast<std::int64_t>(colors.size()));
  require(state_->job->next_communicator <= Router::kMaxCommunicators,
          "More than {} communicators were created in this job.", Router::kMaxCommunicators);
  if (color < 0) return nullptr;
  std::vector<int> members;
  for (int r = 0; r < size(); ++r) {
    if (wishes[r].color == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return wishes[a].key < wishes[b].key; });
  const auto at = std::find(members.begin(), members.end(), rank());
  const int new_rank = static_cast<int>(at - members.begin());
  for (int& member : members) member = state_->ranks[member];
  const auto index = std::lower_bound(colors.begin(), colors.end(), color) - colors.begin();
  return std::unique_ptr<Communicator>(new Communicator(std::make_unique<CommunicatorState>(
      state_->job, std::move(members), new_rank, static_cast<int>(first_id + index))));
}

std::unique_ptr<Communicator> Communicator::group(std::span<const int> members) {
  const auto at = std::find(members.begin(), members.end(), rank());
  state_->fork_guard.require_parent();
  require(at != members.end(), "Rank {} is not a member of the group that it creates.", rank());
  std::vector<int> in_order(members.begin(), members.end());
  std::sort(in_order.begin(), in_order.end());
  require(in_order.front() >= 0 && in_order.back() < size() &&
              std::adjacent_find(in_order.begin(), in_order.end()) == in_order.end(),
          "The members of a group must be distinct ranks from 0 to {}.", size() - 1);
  const int new_rank = static_cast<int>(at - members.begin());
  std::vector<int> ranks(members.begin(), members.end());
  for (int& member : ranks) member = state_->ranks[member];
  // Both ranks of every pair have numbered all groups they share below this one.
  Router router(*state_->job->transport, ranks, state_->id);
  const std::string mine = std::to_string(state_->job->next_communicator.load());
  int id = 0;
  for (const std::string& next :
       exchange_between(*state_->job, router, new_rank, Router::kGroupChannel, mine)) {
    id = std::max(id, std::stoi(next));
  }
  state_->job->next_communicator = id + 1;
  require(id < Router::kMaxCommunicators, "More than {} communicators were created in this job.",
          Router::kMaxCommunicators);
  return std::unique_ptr<Communicator>(new Communicator(
      std::make_unique<CommunicatorState>(state_->job, std::move(ranks), new_rank, id)));
}

void Communicator::all_reduce(Buffer buffer, ReduceOp op, const CallOptions& call) {
  all_reduce(buffer, buffer, op, call);
}
void Communicator::all_reduce(ConstBuffer input, Buffer output, ReduceOp op,
                              const CallOptions& call) {
  if (call.compression.kind() != Compression::kNone) [[unlikely]] {
    return start_compressed(input, output, op, call).wait();
  }
  state_->perform(all_reduce_of(input, output, op, call));
}
void Communicator::reduce_scatter(ConstBuffer input, Buffer output, ReduceOp op, Counts counts,
                                  const CallOptions& call) {
  state_->perform(reduce_scatter_of({rank(), size()}, input, output, op, counts, call));
}
void Communicator::all_gather(ConstBuffer input, Buffer output, Counts counts,
                              const CallOptions& call) {
  state_->perform(all_gather_of({rank(), size()}, input, output, counts, call));
}
void Communicator::broadcast(Buffer buffer, int root, const CallOptions& call) {
  state_->perform(broadcast_of({rank(), size()}, buffer, root, call));
}
void Communicator::reduce(ConstBuffer input, Buffer output, ReduceOp op, int root,
                          const CallOptions& call) {
  state_->perform(reduce_of({rank(), size()}, input, output, op, root, call));
}
void Communicator::gather(ConstBuffer input, Buffer output, int root, Counts counts,
                          const CallOptions& call) {
  state_->perform(gather_of({rank(), size()}, input, output, root, counts, call));
}
void Communicator::scatter(ConstBuffer input, Buffer output, int root, Counts counts,
                           const CallOptions& call) {
  state_->perform(scatter_of({rank(), size()}, input, output, root, counts, call));
}
void Communicator::all_to_all(ConstBuffer input, Buffer output, Counts send_counts,
                              Counts receive_counts, const CallOptions& call) {
  state_->perform(
      all_to_all_of({rank(), size()}, input, output, send_counts, receive_counts, call));
}
void Communicator::barrier(const CallOptions& call) {
  state_->perform(barrier_of(call));
}

Work Communicator::all_reduce_async(ConstBuffer input, Buffer output, ReduceOp op,
                                    const CallOptions& call) {
  if (call.compression.kind() != Compression::kNone)
    return start_compressed(input, output, op, call);
  return state_->start(all_reduce_of(input, output, op, call));
}

Work Communicator::reduce_scatter_async(ConstBuffer input, Buffer output, ReduceOp op,
                                        Counts counts, const CallOptions& call) {
  return state_->start(reduce_scatter_of({rank(), size()}, input, output, op, counts, call));
}
Work Communicator::all_gather_async(ConstBuffer input, Buffer output, Counts counts,
                                    const CallOptions& call) {
  return state_->start(all_gather_of({rank(), size()}, input, output, counts, call));
}
Work Communicator::broadcast_async(Buffer buffer, int root, const CallOptions& call) {
  return state_->start(broadcast_of({rank(), size()}, buffer, root, call));
}
Work Communicator::barrier_async(const CallOptions& call) {
  return state_->start(barrier_of(call));
}

Work Communicator::send_async(ConstBuffer buffer, int peer, int tag) {
  check_message(peer, tag);
  return state_->point_to_point->send(buffer, peer, tag);
}
Work Communicator::receive_async(Buffer buffer, int peer, int tag) {
  check_message(peer, tag);
  return state_->point_to_point->receive(buffer, peer, tag);
}
Work Communicator::receive_any_async(Buffer buffer, int* peer, int tag) {
  require(size() > 1, "A job of one rank has no other rank to receive from.");
  check_message((rank() + 1) % size(), tag);
  return state_->point_to_point->receive_any(buffer, peer, tag);
}
void Communicator::send(ConstBuffer buffer, int peer, int tag) {
  send_async(buffer, peer, tag).wait();
}
void Communicator::receive(Buffer buffer, int peer, int tag) {
  receive_async(buffer, peer, tag).wait();
}

Wire& Communicator::wire() {
  static_assert(kTags == Router::kTags);
  static_assert(kOwnChannel >= Router::kFirstTag + kTags &&
                kOwnChannel + 6 < Router::kGroupChannel);
  return state_->router;
}
const std::shared_ptr<WorkQueue>& Communicator::queue() const {
  return state_->queue;
}

void Communicator::check_message(int peer, int tag) const {
  state_->fork_guard.require_parent();
  require(peer >= 0 && peer < size() && peer != rank(),
          "Rank {} cannot exchange messages with rank {}; peers are 0 to {} without itself.",
          rank(), peer, size() - 1);
  require(tag >= 0, "Tag {} is negative.", tag);
}

}  // namespace tutti::comm
