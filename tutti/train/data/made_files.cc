#include "tutti/train/data/made_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

struct Samples {
  MadeKind kind;
  std::string prefix;
  std::int64_t count;
};

std::vector<MadeFile> missing_files(const fs::path& folder, const MadeFiles& files, int rank,
                                    int ranks) {
  std::vector<MadeFile> missing;
  std::int64_t job = 0;
  for (const Samples& samples : {Samples{MadeKind::kTrain, "train-", files.train},
                                 Samples{MadeKind::kTest, "test-", files.test},
                                 Samples{MadeKind::kVal, files.val_prefix, files.val}})
    for (std::int64_t first = 0; first < samples.count; first += files.per_file, ++job) {
      const std::int64_t number = first / files.per_file,
                         last = std::min(samples.count, first + files.per_file);
      const fs::path path =
          folder / fmt::format("{}{:0{}}.h5", samples.prefix, number, files.digits);
      if (job % ranks == rank && !fs::exists(path))
        missing.push_back({path, samples.kind, number, first, last});
    }
  return missing;
}

}  // namespace

std::string val_prefix(std::int64_t samples) {
  return fmt::format("val-{}-", samples);
}

std::uint64_t stream_of(const MadeFile& file) {
  const auto number = static_cast<std::uint64_t>(file.number);
  if (file.kind == MadeKind::kVal) return (std::uint64_t{1} << 63) + number;
  return 2 * number + (file.kind == MadeKind::kTest ? 1 : 0);
}

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
