#include "tutti/comm/internal/state.h"

#include <cstring>
#include <utility>

#include "tutti/core/clock.h"

namespace tutti::comm {

Communicator::State::State(std::shared_ptr<Job> job_, std::vector<int> ranks_, int rank_, int id_)
    : job(std::move(job_)),
      ranks(std::move(ranks_)),
      rank(rank_),
      id(id_),
      router(*job->transport, ranks, id) {
  find_layout();
  watch = std::make_unique<Watch>(*job, rank, layout);
  join_host();
  auto* vendor = dynamic_cast<VendorCollectives*>(job->transport.get());
  planner = std::make_unique<Planner>(grid, rank, job->options, vendor);
  reduces_on_host_ = planner->reduces_on_host();
  executor = std::make_unique<Executor>(ExecutorParts{.rank = rank,
                                                      .wire = &router,
                                                      .host = host.get(),
                                                      .arena = &job->arena,
                                                      .patience = watch.get(),
                                                      .vendor = vendor,
                                                      .transport_ranks = ranks});
  if (job->options.flag("check")) {
    self_check_ = std::make_unique<SelfCheck>(
        rank, static_cast<int>(ranks.size()), layout,
        [this](const Operation& operation) { return run_one(operation); });
  }
  progress = std::make_unique<Progress>("rank " + std::to_string(rank));
  message_watch = std::make_unique<Watch>(*job, rank, layout);
  message_watch->set_host(host.get());
  messenger = std::make_unique<Messenger>(router, *message_watch, rank);
}

Communicator::State::~State() {
  progress.reset();
  messenger.reset();
  if (host) host->board().block(host->index()).has_left.store(1);
}

void Communicator::State::perform(Operation operation) {
  if (!progress->is_idle()) return start(std::move(operation)).wait();
  run(operation).raise();
}

Work Communicator::State::start(Operation operation) {
  return progress->start(
      [this, operation = std::move(operation), name = std::string(operation.name)]() mutable {
        operation.name = name;
        return run(operation);
      });
}

void Communicator::State::check() {
  for (int member = 0; member < host->size(); ++member) host->board().failure_of(member).raise();
}

Result Communicator::State::run(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (self_check_ && SelfCheck::covers(operation)) [[unlikely]]
    return self_check_->perform(operation);
  return run_one(operation);
}

Result Communicator::State::run_one(const Operation& operation) {
  if (!failure_) return Result(failure_);
  const OpRecord record = OpRecord::of(operation, ++sequence_);
  host->enter(record);
  watch->begin(record);
  FlightEntry& entry = job->flight.begin(record, id);
  Result outcome = dispatch(operation, record);
  FlightRecord::end(entry);
  if (!outcome) {
    failure_ = outcome;
    host->board().write_failure(host->index(), outcome);
    return outcome;
  }
  host->leave(record.sequence);
  return outcome;
}

Result Communicator::State::dispatch(const Operation& operation, const OpRecord& record) {
  if (operation.collective == plan::Collective::kAllReduce && reduces_on_host_) {
    return host->all_reduce(operation, record);
  }
  return executor->run(*planner->plan_for(operation), operation, record);
}

}  // namespace tutti::comm
