// The program tutti: table of its sub-commands.
#include <fmt/format.h>

#include <string_view>

#include "apps/tutti/command.h"

namespace {

constexpr tutti::app::Command kCommands[] = {
    {"bench", "measure ours beside its peers", tutti::app::run_bench},
    {"info", "what was found here, what is chosen, and why", tutti::app::run_info},
    {"evaluate", "measure a trained network on its test data", tutti::app::run_evaluate},
    {"export", "write a trained network as TorchScript", tutti::app::run_export},
    {"learn", "fit linear models and trees to data files", tutti::app::run_in_learn_program},
    {"lms", "predict training with less memory than the model needs", tutti::app::run_lms},
    {"plot", "draw the curves of a run", tutti::app::run_plot},
    {"predict", "write the predictions of a trained network for the samples of a file",
     tutti::app::run_predict},
    {"runs", "list what was trained", tutti::app::run_runs},
    {"train", "train a network on many ranks", tutti::app::run_train},
    {"trace", "look at the operations of a job", tutti::app::run_trace},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--version") {
    fmt::print("tutti {}\n", TUTTI_VERSION);
    return 0;
  }
  return tutti::app::run_program(
      [&] { return tutti::app::dispatch("tutti", kCommands, argc, argv); });
}
