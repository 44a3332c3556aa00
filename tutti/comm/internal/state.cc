#include "tutti/comm/internal/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/comm/tuning/tuner.h"
#include "tutti/core/clock.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

CommunicatorState::CommunicatorState(std::shared_ptr<Job> job_, std::vector<int> ranks_, int rank_,
                                     int id_)
    : job(std::move(job_)),
      ranks(std::move(ranks_)),
      rank(rank_),
      id(id_),
      router(job->routes, ranks, id),
      set_up(*job, router, ranks, rank, id),
      layout(set_up.find_layout()),
      grid(set_up.make_grid(layout)) {
  watch = std::make_unique<Watchdog>(job->options);
  host = set_up.join_host(layout, *watch);
  membership = std::make_unique<Membership>(id, rank, ranks, layout, *host);
  watch->set_membership(membership.get(), &job->monitor);
  VendorCollectives* vendor = job->transport->vendor();
  planner = std::make_unique<Planner>(grid, rank, job->options, job->mode, vendor);
  executor = std::make_unique<Executor>(ExecutorContext{.rank = rank,
                                                        .wire = &router,
                                                        .host = host.get(),
                                                        .arena = job->arena.get(),
                                                        .stall_handler = watch.get(),
                                                        .vendor = vendor,
                                                        .transport_ranks = ranks});
  plans_ =
      std::make_unique<PlanRunner>(*planner, *executor, *job->arena, job->flight, layout, rank);
  if (job->options.flag("check")) {
    self_check_ = std::make_unique<SelfCheck>(
        rank, static_cast<int>(ranks.size()), layout,
        [this](const Operation& operation) { return run_one(operation); });
  }
  queue = std::make_shared<WorkQueue>("rank " + std::to_string(rank));
  point_to_point = std::make_unique<PointToPoint>(
      router, *watch, rank, std::make_shared<MessageWaits>(host->control_block(), host->index()),
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
  run(operation).throw_if_error();
}

Work CommunicatorState::start(Operation operation) {
  fork_guard.require_parent();
  std::string name(operation.name);  // the caller's string may not outlive the call
  return queue->start([this, operation = std::move(operation), name = std::move(name)]() mutable {
    operation.name = name;
    return run(operation);
  });
}

void CommunicatorState::check() {
  fork_guard.require_parent();
  const Result failure = membership->look();
  if (failure) return;
  // Announced before the throw, because the program may exit immediately.
  if (!membership->is_delivered) job->monitor.announce(*membership);
  membership->is_delivered = true;
  failure.throw_if_error();
}

Result CommunicatorState::run(const Operation& operation) {
  const MutexLock lock(mutex_);
  if (self_check_ && SelfCheck::covers(operation)) [[unlikely]]
    return self_check_->perform(operation);
  return run_one(operation);
}

Result CommunicatorState::run_one(const Operation& operation) {
  if (membership->has_failed()) [[unlikely]]
    return fail(membership->failure());
  FlightEntry entry = enter(operation);
  FlightRecord::Slot& slot = job->flight.begin(entry);
  Result outcome = plans_->run(operation, entry);
  if (!outcome) [[unlikely]]
    return fail(std::move(outcome));
  entry.end_ticks = ticks();
  FlightRecord::end(slot, entry.end_ticks, entry.algorithm);
  leave(entry);
  if (!observers_.empty()) [[unlikely]]
    return observers_.report(operation, entry, plans_->times_of(entry));
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
    const MutexLock lock(mutex_);
    if (membership->has_failed()) return fail(membership->failure());
    operation.name = name;
    FlightEntry entry = enter(operation);
    body();
    entry.end_ticks = ticks();
    entry.algorithm = "compressed";
    leave(entry);
    // Only the operations within it know the time per dimension.
    return observers_.empty() ? Result::ok() : observers_.report(operation, entry, {});
  });
}

// All later operations fail with the first failure, on this and the other ranks.
Result CommunicatorState::fail(Result outcome) {
  if (membership->fail(outcome)) job->monitor.announce(*membership);
  job->monitor.report(membership->failure());
  membership->is_delivered = true;
  return membership->failure();
}

void CommunicatorState::tune() {
  tuning =
      comm::tune({.options = job->options,
                  .layout = layout,
                  .grid = grid,
                  .links = job->links,
                  .transport = job->transport->description(),
                  .planner = *planner,
                  .arena = *job->arena,
                  .rank = rank,
                  .size = static_cast<int>(ranks.size()),
                  .exchange = [this](const std::string& mine) { return set_up.exchange(mine); },
                  .perform = [this](const Operation& operation) { perform(operation); }});
}

void CommunicatorState::add_observers() {
  const auto gather = [this](std::span<const double> mine, std::span<double> all) {
    Operation operation{.collective = plan::Collective::kAllGather, .dtype = DType::kF64};
    operation.input = mine.data();
    operation.output = all.data();
    operation.counts.assign(ranks.size(), static_cast<std::int64_t>(mine.size()));
    operation.name = "statistics";
    return run_one(operation);
  };
  observers_.add(job->options, grid, layout, rank, gather);
}

}  // namespace tutti::comm
