#include "tutti/tune/run/trial_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/os/atomic_file.h"
#include "tutti/tune/run/command_template.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kParametersFile = "config.json";

// A value as an argument: strings without quotes.
std::string argument_text(const TrialParameter& parameter) {
  const Json json = Json::parse(json_value(*parameter.distribution, parameter.value));
  return json.is_string() ? json.get<std::string>() : json.dump();
}

std::string variable_name(const std::string& parameter) {
  std::string name = "TUTTI_PARAMETER_";
  for (const char c : parameter) {
    name += std::isalnum(static_cast<unsigned char>(c))
                ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                : '_';
  }
  return name;
}

std::vector<std::string> metric_names(const StudySpec& spec) {
  std::vector<std::string> names;
  for (const Objective& objective : spec.objectives) names.push_back(objective.metric);
  return names;
}

std::filesystem::path made_folder(const std::filesystem::path& study, const Trial& trial) {
  const std::filesystem::path folder = trial_folder(study, trial.number);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) {
    error = os::write_atomically(folder / kParametersFile, parameters_json(trial) + "\n");
  }
  if (error) {
    throw IoError(
        "DDL-10-34",
        fmt::format(
            "Cannot write the directory of trial {}, {}: {}. Free space, or use another --dir.",
            trial.number, folder.string(), error.message()));
  }
  return folder;
}

}  // namespace

std::filesystem::path trial_folder(const std::filesystem::path& study, std::int64_t number) {
  return study / "trials" / fmt::format("{:04}", number);
}

std::string parameters_json(const Trial& trial) {
  Json json = Json::object();
  for (const TrialParameter& parameter : trial.parameters) {
    json[parameter.name] = Json::parse(json_value(*parameter.distribution, parameter.value));
  }
  return json.dump();
}

std::vector<std::string> command_of(const std::vector<std::string>& command, const Trial& trial,
                                    const std::filesystem::path& folder,
                                    const std::filesystem::path& run) {
  std::vector<std::string> words;
  for (const std::string& word : command) {
    std::string text;
    bool is_active = true;
    for (const CommandPart& part : parts_of(word)) {
      const TrialParameter* parameter = part.is_name ? trial.find(part.text) : nullptr;
      if (!part.is_name) {
        text += part.text;
      } else if (parameter) {
        text += argument_text(*parameter);
      } else if (part.text == "trial") {
        text += std::to_string(trial.number);
      } else if (part.text == "directory") {
        text += folder.string();
      } else if (part.text == "run") {
        text += run.string();
      } else {
        is_active = false;  // a parameter that this trial does not have
      }
    }
    if (is_active) words.push_back(std::move(text));
  }
  return words;
}

TrialProcess::TrialProcess(const StudySpec& spec, const Trial& trial,
                           const std::filesystem::path& study, const Placement& placement)
    : number_(trial.number),
      folder_(made_folder(study, trial)),
      results_(folder_, metric_names(spec)),
      process_(process_spec(spec, trial, placement), folder_ / kOutputFile) {}

os::ProcessSpec TrialProcess::process_spec(const StudySpec& spec, const Trial& trial,
                                           const Placement& placement) const {
  const std::filesystem::path run = results_.run();
  const bool resumes = !run.empty() && !spec.resume_command.empty();
  os::ProcessSpec process;
  process.arguments = placement.launcher;
  const std::vector<std::string> command =
      command_of(resumes ? spec.resume_command : spec.command, trial, folder_, run);
  process.arguments.insert(process.arguments.end(), command.begin(), command.end());
  process.cpus = placement.cpus;
  process.directory = folder_.string();
  const auto add = [&](const std::string& name, const std::string& value) {
    process.environment.push_back(name + "=" + value);
  };
  add("TUTTI_TRIAL", std::to_string(trial.number));
  add("TUTTI_TRIAL_DIR", folder_.string());
  for (const TrialParameter& parameter : trial.parameters)
    add(variable_name(parameter.name), argument_text(parameter));
  add("RESULT_DIR", folder_.string());
  add("LOG_DIR", folder_.string());
  const char* data = std::getenv("DLI_DATA_FS");
  if (!data) add("DLI_DATA_FS", folder_.string());
  return process;
}

}  // namespace tutti::tune
