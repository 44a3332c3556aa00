// Evaluation of a network with a progress line.
#pragma once

#include <filesystem>
#include <string>

#include "tutti/core/options.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/run/progress.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Evaluates the current weights. The model stays in evaluation mode. Collective; rank 0 writes plots into `plots`
// unless it is empty. The progress line begins with `what`.
Metrics evaluate_task(Task& task, comm::Communicator& communicator,
                      const std::filesystem::path& plots, const std::string& what,
                      ProgressLine& line);

// The split that selects the best weights of this task, and the one that selected those of a checkpoint. Checkpoints
// without it are older than generated validation samples.
EvalSplit selection_split(const Task& task);
EvalSplit checkpoint_selection_split(const Checkpoint& checkpoint, const Task& task,
                                     const Options& options);
std::string text_of(EvalSplit split);

}  // namespace tutti::train
