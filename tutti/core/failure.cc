#include "tutti/core/failure.h"

#include <fmt/format.h>

#include <filesystem>

#include "tutti/core/error.h"

namespace tutti {

std::string failure_text(const std::exception& error) {
  const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (!file) return error.what();
  return fmt::format(
      "DDL-7-91 {}: {}. Use a directory that exists or can be created, and is writable.",
      file->path1().string(), file->code().message());
}

int exit_code(const std::exception& error) {
  return dynamic_cast<const ConfigError*>(&error) ? 2 : 1;
}

}  // namespace tutti
