// A temporary directory that its owner removes.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "tutti/core/error.h"

namespace tutti::bench {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string form = std::filesystem::temp_directory_path() / "tutti-bench-XXXXXX";
    if (!mkdtemp(form.data()))
      throw IoError(
          "DDL-8-40",
          "Cannot create a directory for the workers. Set TMPDIR to one with free space.");
    path_ = form;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tutti::bench
