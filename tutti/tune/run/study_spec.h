// Description of a study that the command line runs: what to search, and how to run a trial.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/options.h"
#include "tutti/tune/prune/pruner.h"
#include "tutti/tune/search/algorithms.h"
#include "tutti/tune/space.h"
#include "tutti/tune/trial.h"

namespace tutti::tune {

struct Objective {
  std::string metric;  // empty: the first metric that a trial reports
  Direction direction = Direction::kMinimize;
};

struct StudySpec {
  std::string name;
  Space space;
  std::vector<Objective> objectives;
  // Program of a trial and its arguments. "{name}" is replaced by the value of a parameter, "{trial}" by the number,
  // "{directory}" by the directory of the trial. Without any "{name}", a program reads its parameters from config.json
  // or the environment.
  std::vector<std::string> command;
  // Continues an interrupted trial; "{run}" is its run directory. Empty: `command` is started again.
  std::vector<std::string> resume_command = {};
  std::vector<std::pair<std::string, std::string>> options =
      {};  // values of tune_options() that are not defaults

  // In the order of `objectives`.
  std::vector<Direction> directions() const;
};

// The values of tune_options() in `spec`. Throws ConfigError.
Options options_of(const StudySpec& spec);

// Reads a study from TOML (docs/use/tune.md). Names of a case are resolved by the caller: see `case_name`.
struct StudyFileText {
  StudySpec spec;
  std::string case_name;  // of `tutti train`; empty: `command` is set
  std::vector<std::pair<std::string, std::string>> settings;  // fixed options of the case
};
// Throws ConfigError (DDL-10-30), which names the line.
StudyFileText read_study_toml(const std::filesystem::path& file);

// Reads the JSON search request of IBM's Deep Learning Impact: algoDef and hyperParams. Its model package cannot be
// run; the caller sets the command. Throws ConfigError (DDL-10-31).
StudySpec read_search_request(const std::filesystem::path& file);

// JSON, as it is stored with the study.
std::string to_json(const StudySpec& spec);
StudySpec study_spec_from_json(const std::string& text);

// Checks that the study can be run: a space, a command, objectives with directions. Throws ConfigError (DDL-10-32).
void check(const StudySpec& spec);

std::shared_ptr<Sampler> sampler_of(const StudySpec& spec);
std::shared_ptr<Pruner> pruner_of(const StudySpec& spec);

}  // namespace tutti::tune
