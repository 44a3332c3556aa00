// Evaluating a network with a line that says how far that is.
#pragma once

#include <filesystem>

#include "tutti/train/run/progress.h"
#include "tutti/train/task.h"

namespace tutti::train {

// The metrics of the network as it is, which stays in the mode of evaluation. Collective; rank 0
// writes plots into the folder, if there is one.
Metrics judge(Task& task, comm::Communicator& communicator, const std::filesystem::path& plots,
              double epoch, ProgressLine& line);

}  // namespace tutti::train
