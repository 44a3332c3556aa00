// The program tutti: table of its sub-commands.
#include <fmt/format.h>

#include <string_view>

#include "apps/tutti/command.h"

namespace {

constexpr tutti::app::Command kCommands[] = {
    {"bench", "compare Tutti with other systems in benchmarks", tutti::app::run_bench},
    {"info", "show the detected machine, the selected algorithms and the reasons",
     tutti::app::run_info},
    {"evaluate", "evaluate a trained network on its test set", tutti::app::run_evaluate},
    {"export", "write a trained network as TorchScript", tutti::app::run_export},
    {"learn", "fit linear models and trees to data files", tutti::app::run_in_learn_program},
    {"lms", "simulate training steps within a memory budget", tutti::app::run_lms},
    {"plot", "draw the training curves of a run", tutti::app::run_plot},
    {"predict", "write the predictions of a trained network for the samples of a file",
     tutti::app::run_predict},
    {"runs", "list training runs", tutti::app::run_runs},
    {"train", "train a network on all cores of one or several hosts", tutti::app::run_train},
    {"trace", "merge the traces and flight records of a job", tutti::app::run_trace},
    {"tune", "search for the best hyper-parameters of a case or of any program",
     tutti::app::run_tune},
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
