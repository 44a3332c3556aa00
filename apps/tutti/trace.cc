// `tutti trace`: traces of the operations of all ranks of a job.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "apps/tutti/command.h"
#include "tutti/core/error.h"
#include "tutti/runs/merge_traces.h"
#include "tutti/runs/schema.h"

namespace tutti::app {
namespace {

int run_merge(int argc, char** argv) {
  CLI::App app("Merges the traces or flight records of all ranks into one file for Perfetto",
               "tutti trace merge");
  std::string folder, out;
  app.add_option("directory", folder, "run directory")->required();
  app.add_option("-o,--output", out, "output file; default DIRECTORY/trace.json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (out.empty()) out = (std::filesystem::path(folder) / runs::kMergedTraceFile).string();
  std::ostringstream merged;
  const int ranks = runs::merge_traces(folder, merged);
  std::ofstream file(out);
  file << merged.view();
  file.close();
  if (!file)
    throw IoError("DDL-8-62", fmt::format("Cannot write {}. Choose another with -o.", out));
  fmt::print("{}: {} ranks. Open it in https://ui.perfetto.dev or chrome://tracing.\n", out, ranks);
  return 0;
}

}  // namespace

int run_trace(int argc, char** argv) {
  static constexpr Command kCommands[] = {
      {"merge", "merge the traces in the run directory of a job", run_merge},
  };
  return dispatch("tutti trace", kCommands, argc, argv);
}

}  // namespace tutti::app
