// Evaluating a network with a line that says how far that is.
#pragma once

#include <filesystem>
#include <string>

#include "tutti/core/options.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/run/progress.h"
#include "tutti/train/task.h"

namespace tutti::train {

// The metrics of the network as it is, which stays in the mode of evaluation. Collective; rank 0
// writes plots into the folder, if there is one. The line begins with `what` is judged.
Metrics judge(Task& task, comm::Communicator& communicator, const std::filesystem::path& plots,
              const std::string& what, ProgressLine& line);

// By which samples this task chooses the best weights; and by which those of a checkpoint were
// chosen. Checkpoints that do not tell are of a time when no case made samples for it.
Task::Judged chooses_by(const Task& task);
Task::Judged chosen_by(const Checkpoint& checkpoint, const Task& task, const Options& options);
std::string text_of(Task::Judged judged);

}  // namespace tutti::train
