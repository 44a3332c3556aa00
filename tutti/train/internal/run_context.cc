#include "tutti/train/internal/run_context.h"

#include "tutti/core/error.h"
#include "tutti/train/process_setup.h"
#include "tutti/train/run/config.h"

namespace tutti::train {
namespace {

std::unique_ptr<Pipeline> make_pipeline(Task& task, comm::Communicator& communicator,
                                        const Options& options) {
  const int stages = static_cast<int>(options.integer("stages"));
  if (stages == 1) return nullptr;
  if (!is_synchronous(options))
    throw ConfigError("DDL-1-98", "`stages` above 1 needs strategy sync.");
  const bool casts = !task.casts_itself() && compute_type(options) == torch::kBFloat16;
  return std::make_unique<Pipeline>(
      task, communicator,
      PipelineShape{stages, static_cast<int>(options.integer("micro_batches")), casts});
}

}  // namespace

RunContext::RunContext(Task& its_task, comm::Communicator& communicator, const TrainJob& its_job)
    : task(its_task),
      job(its_job),
      options(its_job.options),
      rank(communicator.rank()),
      pipeline(make_pipeline(task, communicator, options)),
      parameters(task.model(), communicator, options.flag("channels_last"),
                 gradient_buffers(options)),
      optimizer(update_settings(options), parameters.segments()),
      updates(task, strategy_context(communicator)),
      strategy(updates.strategy()),
      log(job.folder, rank) {
  communicator.broadcast(Buffer::of(parameters.weights()), 0, {.name = "weights"});
}

StrategyContext RunContext::strategy_context(comm::Communicator& communicator) {
  StrategyContext context{pipeline ? pipeline->replicas() : communicator, task.model(), options,
                          parameters, optimizer};
  if (pipeline) {
    context.first_tensor = pipeline->first_tensor();
    context.last_tensor = pipeline->last_tensor();
    context.stages = &pipeline->line();
  }
  return context;
}

}  // namespace tutti::train
