// Names of the files in a run directory. docs/formats/run-folder.md describes their content.
#pragma once

#include <string>
#include <string_view>

namespace tutti::runs {

// Files of a training run.
inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kNetworkFile = "network.pt";  // the user's model, in TorchScript
inline constexpr const char* kLockFile = ".lock";
inline constexpr const char* kStepsFile = "metrics.csv";
inline constexpr const char* kValidationsFile = "validation.csv";
inline constexpr const char* kResultFile = "result.json";
inline constexpr const char* kLmsFile = "lms.json";
inline constexpr const char* kVerdictFile = "result.txt";
inline constexpr const char* kTensorboardFolder = "tensorboard";
inline constexpr const char* kPlotsFolder = "plots";

// Files of a job.
inline constexpr const char* kMergedTraceFile = "trace.json";
std::string events_file(int rank);  // -1: the launcher
std::string flight_file(int rank);
std::string trace_file(int rank);
bool is_flight_file(std::string_view name);
bool is_trace_file(std::string_view name);
// True if ddlrun or the communication library writes files of this name.
bool is_job_file(const std::string& name);

}  // namespace tutti::runs
