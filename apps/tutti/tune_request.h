// Command line of `tutti tune`, and the study it describes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/tune/run/study_spec.h"

namespace tutti::app {

struct TuneRequest {
  tune::StudySpec spec;
  std::filesystem::path folder;  // of the study; new unless `resumes`
  bool resumes = false;
  bool is_quiet = false;
};

// Reads the command line. Returns false if only help was requested, and printed. Throws ConfigError.
bool parse_tune(int argc, char** argv, TuneRequest& request);

// The parameter `text` ("learning_rate=log:1e-4..1e-1", or only "learning_rate") of a case of `tutti train`. Limits and
// choices are checked against the option; without a range, the usual one of the option. Throws ConfigError.
tune::Parameter case_parameter(const std::string& case_name, const std::string& text);

}  // namespace tutti::app
