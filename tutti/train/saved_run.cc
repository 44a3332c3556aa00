// What is done with the weights of a run afterwards.
#include <fmt/format.h>
#include <unistd.h>

#include "tutti/core/error.h"
#include "tutti/train/internal/judge.h"
#include "tutti/train/parameters.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/trainer.h"

namespace tutti::train {

void load_weights(torch::nn::Module& model, const std::filesystem::path& folder,
                  comm::Communicator& communicator, bool channels_last) {
  const CheckpointFolder checkpoints(folder / "checkpoints", 1);
  std::optional<Checkpoint> checkpoint = checkpoints.best();
  if (!checkpoint) checkpoint = checkpoints.newest();
  if (!checkpoint)
    throw IoError("DDL-7-66",
                  fmt::format("{} has no checkpoint. Train it first: tutti train --resume {}",
                              folder.string(), folder.string()));
  FlatParameters parameters(model, communicator,
                            channels_last);  // they were written in the order they lay in
  const bool has_average = checkpoint->arrays.contains("average");
  checkpoint->get(has_average ? "average" : "weights",
                  std::as_writable_bytes(parameters.weights()));
  std::vector<float> buffers(parameters.buffers().size());
  checkpoint->get("buffers", std::as_writable_bytes(std::span(buffers)));
  parameters.set_buffers(buffers);
}

Metrics evaluate_run(Task& task, comm::Communicator& communicator, const TrainJob& job) {
  load_weights(task.model(), job.folder, communicator, job.options.flag("channels_last"));
  ProgressLine line(communicator.rank() == 0 && isatty(STDOUT_FILENO) == 1);
  Metrics metrics = judge(task, communicator, job.folder / "plots", 0, line);
  line.clear();
  return metrics;
}

}  // namespace tutti::train
