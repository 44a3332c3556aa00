// Evaluation and loading of the saved weights of a run.
#include <fmt/format.h>
#include <unistd.h>

#include "tutti/core/error.h"
#include "tutti/train/internal/evaluation.h"
#include "tutti/train/parameters.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/trainer.h"

namespace tutti::train {
namespace {

// Result of reading the weights on rank 0, as a struct that can be broadcast. Only rank 0 needs access to the run
// directory, and other hosts may see its last write with a delay.
struct Found {
  std::int64_t step = 0;
  bool is_best = false;  // false: the newest
  char chosen_by[16] = {};
  char code[16] = {}, message[1000] = {};  // of the error
};

Checkpoint read_best(const std::filesystem::path& folder, bool& is_best) {
  const CheckpointFolder checkpoints(folder / "checkpoints", 1);
  std::optional<Checkpoint> checkpoint = checkpoints.best();
  is_best = checkpoint.has_value();
  if (!checkpoint) checkpoint = checkpoints.newest();
  if (!checkpoint)
    throw IoError("DDL-7-66",
                  fmt::format("{} has no checkpoint. Train it first: tutti train --resume {}",
                              folder.string(), folder.string()));
  return *std::move(checkpoint);
}

void read_buffers(const Checkpoint& checkpoint, FlatParameters& parameters) {
  if (checkpoint.version() < 3) {
    std::vector<float> values(static_cast<std::size_t>(parameters.buffer_values()));
    checkpoint.get("buffers", std::as_writable_bytes(std::span(values)));
    parameters.set_f32_buffers(values);
    return;
  }
  std::vector<std::byte> bytes(parameters.buffers().size());
  checkpoint.get("buffers", bytes);
  parameters.set_buffers(bytes);
}

Found read_weights(const std::filesystem::path& folder, FlatParameters& parameters) {
  Found found;
  try {
    Checkpoint checkpoint = read_best(folder, found.is_best);
    const bool has_average = checkpoint.arrays.contains("average");
    checkpoint.get(has_average ? "average" : "weights",
                   std::as_writable_bytes(parameters.weights()));
    read_buffers(checkpoint, parameters);
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

struct Loaded {
  Checkpoint checkpoint;  // without its arrays
  bool is_best = false;
};

Loaded load(torch::nn::Module& model, const std::filesystem::path& folder,
            comm::Communicator& communicator, bool channels_last) {
  // Weights are stored in the order of the array, which depends on channels_last.
  FlatParameters parameters(model, communicator, channels_last);
  Found found;
  if (communicator.rank() == 0) found = read_weights(folder, parameters);
  communicator.broadcast({&found, sizeof found, DType::kU8}, 0, {.name = "best weights"});
  if (found.code[0] != 0) throw IoError(found.code, found.message);
  communicator.broadcast(Buffer::of(parameters.weights()), 0, {.name = "best weights"});
  std::vector<std::byte> buffers = parameters.buffers();
  if (!buffers.empty())
    communicator.broadcast({buffers.data(), std::ssize(buffers), DType::kU8}, 0,
                           {.name = "best weights"});
  parameters.set_buffers(buffers);
  Loaded loaded;
  loaded.is_best = found.is_best;
  loaded.checkpoint.step = found.step;
  if (found.chosen_by[0] != 0) loaded.checkpoint.texts["chosen_by"] = found.chosen_by;
  return loaded;
}

}  // namespace

void load_weights(torch::nn::Module& model, const std::filesystem::path& folder,
                  comm::Communicator& communicator, bool channels_last) {
  load(model, folder, communicator, channels_last);
}

SavedResult evaluate_run(Task& task, comm::Communicator& communicator, const TrainJob& job,
                         const std::filesystem::path& plots) {
  const auto [checkpoint, is_best] =
      load(task.model(), job.folder, communicator, job.options.flag("channels_last"));
  ProgressLine line(communicator.rank() == 0 && isatty(STDOUT_FILENO) == 1);
  Metrics metrics = evaluate_task(task, communicator, plots, "test", line);
  line.clear();
  return {metrics, checkpoint_selection_split(checkpoint, task, job.options), checkpoint.step,
          is_best};
}

}  // namespace tutti::train
