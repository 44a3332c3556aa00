// `tutti train`: trains a case on the CPUs of this host, or as one rank of a launcher's job.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include "apps/tutti/command.h"
#include "apps/tutti/train_request.h"
#include "tutti/os/launcher_environment.h"
#include "tutti/runs/training_log.h"

namespace tutti::app {

int run_train(int argc, char** argv) {
  // Ranks of a launcher read the command line and agree on the run directory once they have a communicator.
  if (os::find_job().kind != os::JobKind::kAlone)
    return run_ranks(0, std::vector<std::string>(argv, argv + argc));
  TrainRequest request;
  if (!parse_train(argc, argv, request)) return 0;
  const RunStart start(request);
  const std::filesystem::path& folder = start.folder();
  const bool is_new = request.resumes.empty();
  setenv("TUTTI_RUN_FOLDER", folder.c_str(), 0);  // directory for the flight records of the ranks
  const int code = run_ranks(request.ranks, {is_new ? "start" : "resume", folder.string()});
  if (code == 0) return 0;
  start.undo();
  const bool is_stopped = code == 128 + SIGINT || code == 128 + SIGTERM;
  if (is_stopped && !std::filesystem::exists(folder))
    fmt::print(
        "\nStopped before the first step. Generated files are kept; the same command generates the "
        "others.\n");
  else if (!is_stopped && start.has_taken_steps())
    fmt::print(stderr, "Resume from the last checkpoint with:\n  tutti train --resume {}\n",
               folder.string());
  return code;
}

}  // namespace tutti::app
