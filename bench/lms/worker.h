// Training steps of a network in a separate process, with and without large model support.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/lms/trace.h"

namespace tutti::bench {

// Names a network: "case", its name and options, "script", a file and a shape, or "gpt2" and its options.
using NetworkArguments = std::vector<std::string>;

// A case whose input size can be chosen, and two sizes at which a step is affordable and uses the same algorithms as
// larger ones.
struct SizedCase {
  std::string name;
  std::vector<std::string> size_options;  // set to the size
  int dimensions = 2;                     // elements = size ^ dimensions
  int small = 0, large = 0;
  int full_size =
      0;  // smaller inputs have a network with fewer layers; 0: all have the same network

  bool has_same_network(double size, double other) const {
    return (size < full_size) == (other < full_size);
  }
  double elements(double size) const;
  double size_of(double elements) const;
  NetworkArguments network(int size, const std::vector<std::string>& options) const;
};

// Throws ConfigError (DDL-1-03), which lists the cases.
const SizedCase& find_sized_case(const std::string& name);

// Records one step without a limit. Throws IoError (DDL-8-73) with the output of the program if it fails.
lms::Trace record_step(const NetworkArguments& network);

struct StepRun {
  std::vector<double> seconds, losses;  // of each step
  std::uint32_t gradients = 0;          // checksum after the last step
  std::int64_t peak = 0;                // resident bytes
  // In the last step.
  std::int64_t written = 0, read = 0, unplanned_reads = 0, evictions = 0, faults = 0;
  double waited = 0;

  double step_seconds() const;  // median without the first three steps
};

// Budget 0: without large model support. Throws as record_step().
StepRun run_steps(std::int64_t budget, int steps, const NetworkArguments& network);

// Memory-saving methods of PyTorch that the network supports: "checkpoint" and "save_on_cpu", or none.
std::vector<std::string> baselines_of(const NetworkArguments& network);
// Steps with one of these methods. Throws as record_step().
StepRun run_baseline(const std::string& baseline, int steps, const NetworkArguments& network);

}  // namespace tutti::bench
