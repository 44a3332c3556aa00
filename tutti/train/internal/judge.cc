#include "tutti/train/internal/judge.h"

#include <torch/torch.h>

#include "tutti/core/clock.h"

namespace tutti::train {

Metrics judge(Task& task, comm::Communicator& communicator, const std::filesystem::path& plots,
              double epoch, ProgressLine& line) {
  task.model().eval();
  const torch::NoGradGuard no_gradients;
  task.on_judged = [&line, epoch, watch = Stopwatch()](std::int64_t done, std::int64_t all) {
    line.show(judged_text(epoch, done, all, watch.seconds()));
  };
  Metrics metrics =
      task.evaluate(communicator, communicator.rank() == 0 ? plots : std::filesystem::path());
  task.on_judged = {};
  return metrics;
}

}  // namespace tutti::train
