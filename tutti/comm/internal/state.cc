#include "tutti/comm/internal/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/comm/internal/wide_average.h"
#include "tutti/core/clock.h"

namespace tutti::comm {

Communicator::State::State(std::shared_ptr<Job> job_, std::vector<int> ranks_, int rank_, int id_)
    : job(std::move(job_)),
      ranks(std::move(ranks_)),
      rank(rank_),
      id(id_),
      router(job->routes, ranks, id) {
  find_layout();
  watch = std::make_unique<Watch>(job->options);
  join_host();
  roster = std::make_unique<Roster>(id, rank, ranks, layout, *host);
  watch->set_roster(roster.get(), &job->monitor);
  auto* vendor = dynamic_cast<VendorCollectives*>(job->transport.get());
  planner = std::make_unique<Planner>(grid, rank, job->options, vendor);
  reduces_on_host_ = planner->reduces_on_host();
  shares_hosts_ =
      std::ranges::any_of(layout.hosts, [](const topo::Host& one) { return one.ranks.size() > 1; });
  executor = std::make_unique<Executor>(ExecutorParts{.rank = rank,
                                                      .wire = &router,
                                                      .host = host.get(),
                                                      .arena = job->arena.get(),
                                                      .patience = watch.get(),
                                                      .vendor = vendor,
                                                      .transport_ranks = ranks});
  if (job->options.flag("check")) {
    self_check_ = std::make_unique<SelfCheck>(
        rank, static_cast<int>(ranks.size()), layout,
        [this](const Operation& operation) { return run_one(operation); });
  }
  progress = std::make_unique<Progress>("rank " + std::to_string(rank));
  messenger = std::make_unique<Messenger>(
      router, *watch, rank, std::make_shared<MessageWaits>(host->board(), host->index()),
      [this](Result outcome) { return fail(outcome); });
  job->monitor.add(*roster);
}

Communicator::State::~State() {
  progress.reset();
  messenger.reset();
  executor.reset();
  job->monitor.leave(*roster);
  if (id != 0) {
    job->monitor.remove(*roster);
    return;
  }
  job->farewell = std::make_unique<Farewell>(*job->transport, job->monitor, std::move(watch),
                                             std::move(host), std::move(roster));
}

void Communicator::State::perform(Operation operation) {
  fork_guard.require_parent();
  if (!progress->is_idle()) return start(std::move(operation)).wait();
  run(operation).raise();
}

Work Communicator::State::start(Operation operation) {
  fork_guard.require_parent();
  return progress->start(
      [this, operation = std::move(operation), name = std::string(operation.name)]() mutable {
        operation.name = name;
        return run(operation);
      });
}

void Communicator::State::check() {
  fork_guard.require_parent();
  const Result failure = roster->look();
  if (failure) return;
  // Said before it is thrown: the program may end at once.
  if (!roster->is_delivered) job->monitor.announce(*roster);
  roster->is_delivered = true;
  failure.raise();
}

Result Communicator::State::run(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (self_check_ && SelfCheck::covers(operation)) [[unlikely]]
    return self_check_->perform(operation);
  return run_one(operation);
}

Result Communicator::State::run_one(const Operation& operation) {
  if (roster->has_failed()) [[unlikely]]
    return fail(roster->failure());
  FlightEntry entry = enter(operation);
  FlightRecord::Slot& slot = job->flight.begin(entry);
  Result outcome = dispatch(operation, entry);
  if (!outcome) [[unlikely]]
    return fail(std::move(outcome));
  entry.end_ticks = ticks();
  FlightRecord::end(slot, entry.end_ticks, entry.algorithm);
  leave(entry);
  if (!observers_.empty()) [[unlikely]]
    return observe(operation, entry, times_of(operation, entry));
  return outcome;
}

FlightEntry Communicator::State::enter(const Operation& operation) {
  const std::int64_t start = ticks();
  const FlightEntry entry{
      .record = OpRecord::of(operation, ++sequence_), .communicator = id, .start_ticks = start};
  host->enter(entry.record, start);
  watch->begin(entry.record, operation.timeout);
  return entry;
}

void Communicator::State::leave(const FlightEntry& entry) {
  host->leave(entry.record.sequence, entry.end_ticks);
  if (watch->has_reported()) [[unlikely]]
    watch->report_recovery();
  if (job->recorder.traces()) [[unlikely]]
    job->recorder.trace(entry);
}

Work Communicator::State::start_as(Operation operation, const std::string& name,
                                   std::function<void()> body) {
  fork_guard.require_parent();
  return progress->start([this, operation = std::move(operation), name, body]() mutable {
    const std::lock_guard lock(mutex_);
    if (roster->has_failed()) return fail(roster->failure());
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
Result Communicator::State::fail(Result outcome) {
  if (roster->fail(outcome)) job->monitor.announce(*roster);
  job->monitor.report(roster->failure());
  roster->is_delivered = true;
  return roster->failure();
}

Result Communicator::State::dispatch(const Operation& operation, FlightEntry& entry) {
  if (operation.collective == plan::Collective::kAllReduce && reduces_on_host_) {
    Result outcome = host->all_reduce(operation, entry.record);
    entry.algorithm = host->last_way();
    return outcome;
  }
  if (WideAverage::covers(operation)) [[unlikely]] {
    const WideAverage wide(*job->arena, rank, static_cast<int>(ranks.size()),
                           [&](const Operation& part) { return run_plan(part, entry); });
    return wide.perform(operation);
  }
  return run_plan(operation, entry);
}

// Memory that peers cannot map is copied through library memory. In chunks, so that this memory
// stays small. All ranks must cut alike, whatever memory they bring, so the size alone decides.
Result Communicator::State::run_plan(const Operation& operation, FlightEntry& entry) {
  using plan::Collective;
  constexpr std::int64_t kMostBytes = 32 << 20;
  const bool has_pieces = operation.collective != Collective::kAllReduce &&
                          operation.collective != Collective::kReduce &&
                          operation.collective != Collective::kBroadcast;
  const auto width = static_cast<std::int64_t>(size_of(operation.dtype));
  executor->reset_times();
  if (has_pieces || !shares_hosts_ || operation.count * width <= kMostBytes) {
    return run_chunk(operation, entry);
  }
  Operation chunk = operation;
  for (std::int64_t begin = 0; begin < operation.count; begin += chunk.count) {
    chunk.count = std::min(kMostBytes / width, operation.count - begin);
    if (operation.input) {
      chunk.input = static_cast<const std::byte*>(operation.input) + begin * width;
    }
    if (operation.output) chunk.output = static_cast<std::byte*>(operation.output) + begin * width;
    Result outcome = run_chunk(chunk, entry);
    if (!outcome) return outcome;
  }
  return Result::ok();
}

Result Communicator::State::run_chunk(const Operation& operation, FlightEntry& entry) {
  const auto plan = planner->plan_for(operation);
  entry.algorithm = job->flight.keep(plan->algorithm);
  return executor->run(*plan, operation, entry.record);
}

}  // namespace tutti::comm
