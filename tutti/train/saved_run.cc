// What is done with the weights of a run afterwards.
#include <fmt/format.h>
#include <unistd.h>

#include "tutti/core/error.h"
#include "tutti/train/internal/judge.h"
#include "tutti/train/parameters.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/trainer.h"

namespace tutti::train {
namespace {

// What rank 0 has read, in a form that travels: only it needs to see the files of the run, and no
// other may see them before it has written the last one.
struct Found {
  std::int64_t step = 0;
  char chosen_by[16] = {};
  char code[16] = {}, message[1000] = {};  // of what failed
};

Checkpoint read_best(const std::filesystem::path& folder) {
  const CheckpointFolder checkpoints(folder / "checkpoints", 1);
  std::optional<Checkpoint> checkpoint = checkpoints.best();
  if (!checkpoint) checkpoint = checkpoints.newest();
  if (!checkpoint)
    throw IoError("DDL-7-66",
                  fmt::format("{} has no checkpoint. Train it first: tutti train --resume {}",
                              folder.string(), folder.string()));
  return *std::move(checkpoint);
}

Found read_weights(const std::filesystem::path& folder, std::span<float> weights,
                   std::span<float> buffers) {
  Found found;
  try {
    Checkpoint checkpoint = read_best(folder);
    const bool has_average = checkpoint.arrays.contains("average");
    checkpoint.get(has_average ? "average" : "weights", std::as_writable_bytes(weights));
    checkpoint.get("buffers", std::as_writable_bytes(buffers));
    found.step = checkpoint.step;
    checkpoint.texts["chosen_by"].copy(found.chosen_by, sizeof found.chosen_by - 1);
  } catch (const Error& error) {
    error.code().copy(found.code, sizeof found.code - 1);
    std::string(error.what())
        .substr(error.code().size() + 1)
        .copy(found.message, sizeof found.message - 1);
  }
  return found;
}

// Returns the checkpoint without its arrays.
Checkpoint load(torch::nn::Module& model, const std::filesystem::path& folder,
                comm::Communicator& communicator, bool channels_last) {
  // They were written in the order they lay in.
  FlatParameters parameters(model, communicator, channels_last);
  std::vector<float> buffers(parameters.buffers().size());
  Found found;
  if (communicator.rank() == 0) found = read_weights(folder, parameters.weights(), buffers);
  communicator.broadcast({&found, sizeof found, DType::kU8}, 0, {.name = "best weights"});
  if (found.code[0] != 0) throw IoError(found.code, found.message);
  communicator.broadcast(Buffer::of(parameters.weights()), 0, {.name = "best weights"});
  if (!buffers.empty())
    communicator.broadcast(Buffer::of(std::span(buffers)), 0, {.name = "best weights"});
  parameters.set_buffers(buffers);
  Checkpoint checkpoint;
  checkpoint.step = found.step;
  if (found.chosen_by[0] != 0) checkpoint.texts["chosen_by"] = found.chosen_by;
  return checkpoint;
}

}  // namespace

void load_weights(torch::nn::Module& model, const std::filesystem::path& folder,
                  comm::Communicator& communicator, bool channels_last) {
  load(model, folder, communicator, channels_last);
}

SavedResult evaluate_run(Task& task, comm::Communicator& communicator, const TrainJob& job) {
  const Checkpoint checkpoint =
      load(task.model(), job.folder, communicator, job.options.flag("channels_last"));
  ProgressLine line(communicator.rank() == 0 && isatty(STDOUT_FILENO) == 1);
  Metrics metrics = judge(task, communicator, job.folder / "plots", "test", line);
  line.clear();
  return {metrics, chosen_by(checkpoint, task, job.options), checkpoint.step};
}

}  // namespace tutti::train
