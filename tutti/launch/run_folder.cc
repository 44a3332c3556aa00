#include "tutti/launch/run_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/launch/network.h"
#include "tutti/launch/shell.h"

namespace tutti::launch {
namespace {

std::filesystem::path make_folder(const std::filesystem::path& parent) {
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  std::string time = utc_text(wall_ns()).substr(0, 19);  // 2026-03-01T12:34:56
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::string name =
      (std::filesystem::absolute(parent) / fmt::format("DDLRUN.{}.XXXXXX", time)).string();
  if (error || !::mkdtemp(name.data())) {
    throw ConfigError("DDL-3-18",
                      fmt::format("Cannot make a run folder in {}: {}. Choose another with "
                                  "--log-dir.",
                                  parent.string(), error ? error.message() : std::strerror(errno)));
  }
  std::filesystem::permissions(name, std::filesystem::perms(0755), error);
  return name;
}

}  // namespace

RunFolder::RunFolder(const std::filesystem::path& parent)
    : path_(make_folder(parent)), events_(path_, -1, host_name()) {}

void RunFolder::write(const std::string& name, std::string_view text) const {
  std::ofstream(path_ / name) << text;
}

void RunFolder::append(const std::string& name, std::string_view text) const {
  std::ofstream(path_ / name, std::ios::app) << text;
}

std::filesystem::path default_log_folder() {
  const char* const temporary = std::getenv("TMPDIR");
  const std::filesystem::path top = temporary && *temporary ? temporary : "/tmp";
  return top / (::geteuid() == 0 ? "DDLRUN" : fmt::format("DDLRUN-{}", ::geteuid()));
}

std::string script_of(const std::string& folder, const Environment& environment,
                      const std::vector<std::string>& command) {
  std::string text = fmt::format("#!/bin/sh\ncd {}\n", shell_word(folder));
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("TUTTI_WATCH"))
      text += fmt::format("export {}={}\n", name, shell_word(value));
  }
  return text + "exec " + shell_line(command) + "\n";
}

}  // namespace tutti::launch
