#include "tutti/train/internal/judge.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/clock.h"

namespace tutti::train {

Metrics judge(Task& task, comm::Communicator& communicator, const std::filesystem::path& plots,
              const std::string& what, ProgressLine& line) {
  task.model().eval();
  const torch::NoGradGuard no_gradients;
  task.on_judged = [&line, what, watch = Stopwatch()](std::int64_t done, std::int64_t all) {
    line.show(judged_text(what, done, all, watch.seconds()));
  };
  Metrics metrics =
      task.evaluate(communicator, communicator.rank() == 0 ? plots : std::filesystem::path());
  task.on_judged = {};
  return metrics;
}

Task::Judged chooses_by(const Task& task) {
  return task.has_validation() ? Task::Judged::kValidation : Task::Judged::kTest;
}

Task::Judged chosen_by(const Checkpoint& checkpoint, const Task& task, const Options& options) {
  const auto found = checkpoint.texts.find("chosen_by");
  if (found != checkpoint.texts.end())
    return found->second == text_of(Task::Judged::kTest) ? Task::Judged::kTest
                                                         : Task::Judged::kValidation;
  return options.text("data").empty() ? Task::Judged::kTest : chooses_by(task);
}

std::string text_of(Task::Judged judged) {
  return judged == Task::Judged::kTest ? "test" : "validation";
}

}  // namespace tutti::train
