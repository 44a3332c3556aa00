#include "tutti/train/data/made_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tutti::train {

void make_files(const std::filesystem::path& folder, const MadeFiles& files, int rank, int ranks,
                const std::function<void(int, int)>& progress,
                const std::function<void(const MadeFile&)>& make) {
  std::filesystem::create_directories(folder);
  auto files_of = [&](std::int64_t samples) {
    return (samples + files.per_file - 1) / files.per_file;
  };
  const std::int64_t train = files_of(files.train), all = train + files_of(files.test);
  std::vector<MadeFile> missing;
  for (std::int64_t job = rank; job < all; job += ranks) {
    MadeFile file;
    file.is_train = job < train;
    file.number = file.is_train ? job : job - train;
    file.first = file.number * files.per_file;
    file.last = std::min(file.is_train ? files.train : files.test, file.first + files.per_file);
    file.path = folder / fmt::format("{}-{:0{}}.h5", file.is_train ? "train" : "test", file.number,
                                     files.digits);
    if (!std::filesystem::exists(file.path)) missing.push_back(file);
  }
  for (std::size_t i = 0; i < missing.size(); ++i) {
    make(missing[i]);
    if (progress) progress(static_cast<int>(i + 1), static_cast<int>(missing.size()));
  }
}

}  // namespace tutti::train
