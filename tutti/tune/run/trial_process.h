// The process of one trial.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/os/process.h"
#include "tutti/tune/run/study_spec.h"
#include "tutti/tune/run/trial_results.h"

namespace tutti::tune {

// The words before the program of a trial, and the cores of this host on which it runs.
struct Placement {
  std::vector<std::string> launcher;  // such as srun and its arguments; empty: on this host
  std::vector<int> cpus;              // of one trial; empty: all
};

// Directory of trial `number` in the directory of a study: "trials/0007".
std::filesystem::path trial_folder(const std::filesystem::path& study, std::int64_t number);

// The parameters of a trial as a JSON object.
std::string parameters_json(const Trial& trial);

// The command of `trial`, with its placeholders replaced; see StudySpec::command. A word with a parameter that the
// trial does not have is omitted.
std::vector<std::string> command_of(const std::vector<std::string>& command, const Trial& trial,
                                    const std::filesystem::path& folder,
                                    const std::filesystem::path& run);

// A started trial. It runs in its directory, with config.json there and these variables: TUTTI_TRIAL (number),
// TUTTI_TRIAL_DIR, TUTTI_PARAMETER_<NAME> for each parameter, and RESULT_DIR, LOG_DIR and DLI_DATA_FS as in IBM's Deep
// Learning Impact. Output is appended to output.log. Not thread-safe.
class TrialProcess {
 public:
  // Continues an interrupted trial if it has left a run directory and `spec` has a resume command. Throws IoError if
  // the directory cannot be written or the process cannot be started.
  TrialProcess(const StudySpec& spec, const Trial& trial, const std::filesystem::path& study,
               const Placement& placement);

  std::int64_t number() const { return number_; }
  TrialResults& results() { return results_; }
  os::Process& process() { return process_; }
  double seconds() const { return watch_.seconds(); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  os::ProcessSpec process_spec(const StudySpec& spec, const Trial& trial,
                               const Placement& placement) const;

  std::int64_t number_;
  std::filesystem::path folder_;
  TrialResults results_;
  Stopwatch watch_;
  os::Process process_;
};

}  // namespace tutti::tune
