// `tutti predict RUN FILE` and `tutti export RUN`: predictions of a trained network, and its export as TorchScript.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "apps/tutti/command.h"
#include "apps/tutti/train_request.h"
#include "tutti/core/error.h"

namespace tutti::app {

int run_predict(int argc, char** argv) {
  CLI::App app(
      "Writes the predictions of the best weights of a run for the samples of an HDF5 file",
      "tutti predict");
  std::string folder, file, output = "predictions.csv";
  app.add_option("run", folder, "run directory")->required()->check(CLI::ExistingDirectory);
  app.add_option("file", file, "file of samples in the layout of the case")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option(
      "-o,--output", output,
      "CSV with one row per sample [predictions.csv], or FILE.h5 for masks and generated samples");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  check_run(folder);
  const std::string kind = std::filesystem::path(file).extension().string();
  if (kind != ".h5" && kind != ".hdf5" && kind != ".bin")
    throw ConfigError("DDL-1-73", fmt::format("{} is not a file of samples: *.h5, *.hdf5, or *.bin "
                                              "of CIFAR-10.",
                                              file));
  const int code = run_ranks(1, {"predict", folder, file, output});
  if (code == 0) fmt::print("{}\n", output);
  return code;
}

int run_export(int argc, char** argv) {
  CLI::App app("Writes the best weights of a run with their network as TorchScript",
               "tutti export");
  std::string folder, output = "model.pt";
  app.add_option("run", folder, "run directory")->required()->check(CLI::ExistingDirectory);
  app.add_option("-o,--output", output, "file to write [model.pt]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  check_run(folder);
  const int code = run_ranks(1, {"export", folder, output});
  if (code == 0) fmt::print("{}\n", output);
  return code;
}

}  // namespace tutti::app
