// `tutti train`: trains a case on the processors of this host, or as one rank of a launcher's job.
#include <fmt/format.h>
#include <stdlib.h>

#include "apps/tutti/command.h"
#include "apps/tutti/train_request.h"
#include "tutti/comm/transport/mpi/mpi_environment.h"

namespace tutti::app {

int run_train(int argc, char** argv) {
  TrainRequest request;
  if (!parse_train(argc, argv, request)) return 0;
  // Ranks of a launcher agree on the folder once they can talk to each other.
  if (comm::find_job().kind != comm::JobKind::kAlone)
    return run_ranks(0, std::vector<std::string>(argv, argv + argc));
  const std::filesystem::path folder = make_run(request);
  setenv("TUTTI_RUN_FOLDER", folder.c_str(), 0);  // where ranks leave their last words
  fmt::print("run: {}\n", folder.string());
  fflush(stdout);
  return run_ranks(request.ranks, {request.resumes.empty() ? "start" : "resume", folder.string()});
}

}  // namespace tutti::app
