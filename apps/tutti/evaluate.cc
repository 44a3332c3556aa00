// `tutti evaluate RUN`: the metrics of a run's best weights on its test data.
#include <CLI/CLI.hpp>
#include <string>

#include "apps/tutti/command.h"
#include "apps/tutti/train_request.h"

namespace tutti::app {

int run_evaluate(int argc, char** argv) {
  CLI::App app("Evaluates the best weights of a run on its test set", "tutti evaluate");
  std::string folder;
  int ranks = 0;
  app.add_option("run", folder, "run directory")->required()->check(CLI::ExistingDirectory);
  app.add_option("--ranks", ranks, "processes on this host, without a launcher [one per CPU]")
      ->check(CLI::Range(1, 4096));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  check_run(folder);
  return run_ranks(ranks, {"evaluate", folder});
}

}  // namespace tutti::app
