// Components of a training run apart from its task, constructed once, in this order.
#pragma once

#include <memory>

#include "tutti/runs/training_log.h"
#include "tutti/train/parameters.h"
#include "tutti/train/pipeline.h"
#include "tutti/train/trainer.h"
#include "tutti/train/updates.h"

namespace tutti::train {

struct RunContext {
  // Collective; afterwards every rank has the weights of rank 0. All arguments must outlive this object.
  RunContext(Task& its_task, comm::Communicator& communicator, const TrainJob& its_job);
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  std::uint64_t seed() const { return static_cast<std::uint64_t>(options.integer("seed")); }
  std::int64_t accumulate() const { return options.integer("accumulate"); }

  Task& task;
  const TrainJob& job;
  const Options& options;
  const int rank;
  const std::unique_ptr<Pipeline> pipeline;  // null without model parallelism
  FlatParameters parameters;
  Optimizer optimizer;
  StepUpdates updates;
  Strategy& strategy;  // that of the first update
  runs::RunLog log;

 private:
  StrategyContext strategy_context(comm::Communicator& communicator);
};

}  // namespace tutti::train
