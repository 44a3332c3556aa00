// Files of made samples, `train-00000.h5`, `test-00000.h5` and so on, dealt to ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace tutti::train {

struct MadeFiles {
  std::int64_t train = 0, test = 0;  // samples
  std::int64_t per_file = 1;
  int digits = 5;  // of the number in a file's name
};

struct MadeFile {
  std::filesystem::path path;
  bool is_train = true;
  std::int64_t number = 0;           // among the files of its kind
  std::int64_t first = 0, last = 0;  // samples among those of its kind, `last` excluded
};

// Calls `make` for each file of this rank that is not there yet, and `progress`, when given, after
// each: how many of these were made, and will be. Makes the folder.
void make_files(const std::filesystem::path& folder, const MadeFiles& files, int rank, int ranks,
                const std::function<void(int, int)>& progress,
                const std::function<void(const MadeFile&)>& make);

}  // namespace tutti::train
