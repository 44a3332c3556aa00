#include "tutti/train/data/made_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

std::vector<MadeFile> missing_files(const fs::path& folder, const MadeFiles& files, int rank,
                                    int ranks) {
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
    if (!fs::exists(file.path)) missing.push_back(file);
  }
  return missing;
}

}  // namespace

void check_room(const fs::path& folder, double needed, double available) {
  if (needed <= available) return;
  throw IoError("DDL-7-93",
                fmt::format("{} has room for {:.1f} GB, and {:.1f} GB more are to be made there. "
                            "Ask for fewer samples, or set XDG_CACHE_HOME to a folder on a larger "
                            "disk; what was made is kept.",
                            folder.string(), available * 1e-9, needed * 1e-9));
}

void make_files(const fs::path& folder, const MadeFiles& files, int rank, int ranks,
                const MakeProgress& progress,
                const std::function<void(const MadeFile&, const FileProgress&)>& make) {
  fs::create_directories(folder);
  const std::vector<MadeFile> missing = missing_files(folder, files, rank, ranks);
  const int all = static_cast<int>(missing.size());
  double bytes = 0;  // of what was made here; other ranks make as much
  for (int done = 0; done < all; ++done) {
    auto tell = [&](double share) {
      if (progress) progress(done + share, all);
    };
    if (done == 0) tell(0);
    const MadeFile& file = missing[static_cast<std::size_t>(done)];
    make(file, tell);
    tell(1);
    std::error_code unknown;
    bytes += double(fs::file_size(file.path, unknown));
    const double left = bytes / (done + 1) * (all - done - 1) * ranks;
    if (!unknown) check_room(folder, left, double(fs::space(folder).available));
  }
}

}  // namespace tutti::train
