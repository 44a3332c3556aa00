#include "tutti/comm/internal/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/comm/execution/chunks.h"
#include "tutti/comm/execution/wide_average.h"
#include "tutti/core/clock.h"

namespace tutti::comm {

CommunicatorState::CommunicatorState(std::shared_ptr<Job> job_, std::vector<int> ranks_, int rank_,
                                     int id_)
    : job(std::move(job_)),
      ranks(std::move(ranks_)),
      rank(rank_),
      id(id_),
      router(job->routes, ranks, id) {
  find_layout();
  watch = std::make_unique<Watchdog>(job->options);
  join_host();
  membership = std::make_unique<Membership>(id, rank, ranks, layout, *host);
  watch->set_membership(membership.get(), &job->monitor);
  VendorCollectives* vendor = job->transport->vendor();
  planner = std::make_unique<Planner>(grid, rank, job->options, job->mode, vendor);
  shares_hosts_ =
      std::ranges::any_of(layout.hosts, [](const topo::Host& one) { return one.ranks.size() > 1; });
  executor = std::make_unique<Executor>(ExecutorContext{.rank = rank,
                                                        .wire = &router,
                                                        .host = host.get(),
                                                        .arena = job->arena.get(),
                                                        .stall_handler = watch.get(),
                                                        .vendor = vendor,
                                                        .transport_ranks = ranks});
  if (job->options.flag("check")) {
    self_check_ = std::make_unique<SelfCheck>(
        rank, static_cast<int>(ranks.size()), layout,
        [this](const Operation& operation) { return run_one(operation); });
  }
  queue = std::make_shared<WorkQueue>("rank " + std::to_string(rank));
  point_to_point = std::make_unique<PointToPoint>(
      router, *watch, rank, std::make_shared<MessageWaits>(host->board(), host->index()),
      [this](Result outcome) { return fail(outcome); });
  job->monitor.add(*membership);
}

CommunicatorState::~CommunicatorState() {
  queue->close();
  point_to_point.reset();
  executor.reset();
  job->monitor.leave(*membership);
  if (id != 0) {
    job->monitor.remove(*membership);
    return;
  }
  job->shutdown_barrier = std::make_unique<ShutdownBarrier>(
      *job->transport, job->monitor, std::move(watch), std::move(host), std::move(membership));
}

void CommunicatorState::perform(Operation operation) {
  fork_guard.require_parent();
  if (!queue->is_idle() && !queue->is_in_task()) return start(std::move(operation)).wait();
  run(operation).raise();
}

Work CommunicatorState::start(Operation operation) {
  fork_guard.require_parent();
  return queue->start(
      [this, operation = std::move(operation), name = std::string(operation.name)]() mutable {
        operation.name = name;
        return run(operation);
      });
}

void CommunicatorState::check() {
  fork_guard.require_parent();
  const Result failure = membership->look();
  if (failure) return;
  // Said before it is thrown: the program may end at once.
  if (!membership->is_delivered) job->monitor.announce(*membership);
  membership->is_delivered = true;
  failure.raise();
}

Result CommunicatorState::run(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (self_check_ && SelfCheck::covers(operation)) [[unlikely]]
    return self_check_->perform(operation);
  return run_one(operation);
}

Result CommunicatorState::run_one(const Operation& operation) {
  if (membership->has_failed()) [[unlikely]]
    return fail(membership->failure());
  FlightEntry entry = enter(operation);
  FlightRecord::Slot& slot = job->flight.begin(entry);
  Result outcome = dispatch(operation, entry);
  if (!outcome) [[unlikely]]
    return fail(std::move(outcome));
  entry.end_ticks = ticks();
  FlightRecord::end(slot, entry.end_ticks, entry.algorithm);
  leave(entry);
  if (!observers_.empty()) [[unlikely]]
    return observe(operation, entry, times_of(entry));
  return outcome;
}

FlightEntry CommunicatorState::enter(const Operation& operation) {
  const std::int64_t start = ticks();
  const FlightEntry entry{
      .record = OpRecord::of(operation, ++sequence_), .communicator = id, .start_ticks = start};
  host->enter(entry.record, start);
  watch->begin(entry.record, operation.timeout);
  return entry;
}

void CommunicatorState::leave(const FlightEntry& entry) {
  host->leave(entry.record.sequence, entry.end_ticks);
  if (watch->has_reported()) [[unlikely]]
    watch->report_recovery();
  if (job->recorder.traces()) [[unlikely]]
    job->recorder.trace(entry);
}

Work CommunicatorState::start_as(Operation operation, const std::string& name,
                                 std::function<void()> body) {
  fork_guard.require_parent();
  return queue->start([this, operation = std::move(operation), name, body]() mutable {
    const std::lock_guard lock(mutex_);
    if (membership->has_failed()) return fail(membership->failure());
    operation.name = name;
    FlightEntry entry = enter(operation);
    body();
    entry.end_ticks = ticks();
    entry.algorithm = "compressed";
    leave(entry);
    // Which dimension the time went to, only the operations inside know.
    return observers_.empty() ? Result::ok() : observe(operation, entry, DimensionTimes{});
  });
}

// All later operations end with the first failure, and so do those of the other ranks.
Result CommunicatorState::fail(Result outcome) {
  if (membership->fail(outcome)) job->monitor.announce(*membership);
  job->monitor.report(membership->failure());
  membership->is_delivered = true;
  return membership->failure();
}

// One host folds the vectors of all ranks at once, whatever their type and size.
Result CommunicatorState::dispatch(const Operation& operation, FlightEntry& entry) {
  if (operation.collective == plan::Collective::kAllReduce && layout.hosts.size() == 1) {
    const plan::Plan& plan = planner->plan_for(operation);
    if (plan.host_all_reduce()) [[likely]] {
      Result outcome = executor->run(plan, operation, entry.record);
      entry.algorithm = executor->last_host_row();
      return outcome;
    }
  }
  if (WideAverage::covers(operation)) [[unlikely]] {
    const WideAverage wide(*job->arena, rank, static_cast<int>(ranks.size()),
                           [&](const Operation& part) { return run_plan(part, entry); });
    return wide.perform(operation);
  }
  return run_plan(operation, entry);
}

// Memory that peers cannot map is copied through library memory. In chunks, so that this memory
// stays small. All ranks must cut alike, whatever memory they bring, so the size alone decides
// about vectors. Chunks of pieces are packed and cost copies even of library memory; ranks agree on
// them.
Result CommunicatorState::run_plan(const Operation& operation, FlightEntry& entry) {
  const int size = static_cast<int>(ranks.size());
  executor->reset_times();
  if (!shares_hosts_ || total_bytes(operation, size) <= kMostStagedBytes) {
    return run_chunk(operation, operation, entry);
  }
  if (!has_pieces(operation)) {
    return for_each_chunk(operation, rank, size,
                          [&](const Operation& chunk) { return run_chunk(chunk, chunk, entry); });
  }
  bool cuts = false;
  Result agreed =
      agree(!executor->has_room_for(planner->plan_for(operation), operation), &cuts, entry);
  if (!agreed) return agreed;
  if (!cuts) return run_chunk(operation, operation, entry);
  return for_each_chunk(operation, rank, size,
                        [&](const Operation& chunk) { return run_chunk(chunk, operation, entry); });
}

// Whether any rank of the operation at hand says yes.
Result CommunicatorState::agree(bool mine, bool* anyone, FlightEntry& entry) {
  std::int32_t answer = mine ? 1 : 0;
  const Operation question{
      .dtype = DType::kI32, .op = ReduceOp::kMax, .input = &answer, .output = &answer, .count = 1};
  Result outcome = run_chunk(question, question, entry);
  *anyone = answer != 0;
  return outcome;
}

Result CommunicatorState::run_chunk(const Operation& chunk, const Operation& whole,
                                    FlightEntry& entry) {
  const plan::Plan& plan = planner->plan_for(chunk, whole);
  entry.algorithm = job->flight.keep(plan.algorithm);
  return executor->run(plan, chunk, entry.record);
}

}  // namespace tutti::comm
