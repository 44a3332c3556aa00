#include "tutti/train/internal/evaluation.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/clock.h"

namespace tutti::train {

Metrics evaluate_task(Task& task, comm::Communicator& communicator,
                      const std::filesystem::path& plots, const std::string& what,
                      ProgressLine& line) {
  task.model().eval();
  const torch::NoGradGuard no_gradients;
  task.on_evaluated = [&line, what, watch = Stopwatch()](std::int64_t done, std::int64_t all) {
    line.show(evaluation_progress_text(what, done, all, watch.seconds()));
  };
  Metrics metrics =
      task.evaluate(communicator, communicator.rank() == 0 ? plots : std::filesystem::path());
  task.on_evaluated = {};
  return metrics;
}

EvalSplit selection_split(const Task& task) {
  return task.has_validation() ? EvalSplit::kValidation : EvalSplit::kTest;
}

EvalSplit checkpoint_selection_split(const Checkpoint& checkpoint, const Task& task,
                                     const Options& options) {
  const auto found = checkpoint.texts.find("chosen_by");
  if (found != checkpoint.texts.end())
    return found->second == text_of(EvalSplit::kTest) ? EvalSplit::kTest : EvalSplit::kValidation;
  return options.text("data").empty() ? EvalSplit::kTest : selection_split(task);
}

std::string text_of(EvalSplit split) {
  return split == EvalSplit::kTest ? "test" : "validation";
}

}  // namespace tutti::train
