#include "tutti/train/data/generated_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/os/file_lock.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

struct Samples {
  Split kind;
  std::string prefix;
  std::int64_t count;
};

std::vector<GeneratedFile> missing_files(const fs::path& folder, const GeneratedFiles& files,
                                         int rank, int ranks) {
  std::vector<GeneratedFile> missing;
  std::int64_t job = 0;
  for (const Samples& samples :
       {Samples{Split::kTrain, "train-", files.train}, Samples{Split::kTest, "test-", files.test},
        Samples{Split::kVal, files.val_prefix, files.val}})
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

// The byte of the lock file that represents this file.
std::int64_t lock_byte(const GeneratedFile& file) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : file.path.filename().string())
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return static_cast<std::int64_t>(hash >> 2);
}

// Drafts that are in the directory now: of runs that were killed, or that are being written.
std::vector<fs::path> drafts_in(const fs::path& folder) {
  std::vector<fs::path> drafts;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".part") drafts.push_back(entry.path());
  return drafts;
}

void remove_drafts(const std::vector<fs::path>& drafts, const GeneratedFile& file) {
  std::error_code ignored;
  for (const fs::path& draft : drafts)
    if (draft.string().starts_with(file.path.string() + ".")) fs::remove(draft, ignored);
}

}  // namespace

std::string val_prefix(std::int64_t samples) {
  return fmt::format("val-{}-", samples);
}

std::uint64_t stream_of(const GeneratedFile& file) {
  const auto number = static_cast<std::uint64_t>(file.number);
  if (file.kind == Split::kVal) return (std::uint64_t{1} << 63) + number;
  return 2 * number + (file.kind == Split::kTest ? 1 : 0);
}

void check_room(const fs::path& folder, double needed, double available) {
  if (needed <= available) return;
  throw IoError(
      "DDL-7-93",
      fmt::format(
          "{} has {:.1f} GB free, and {:.1f} GB more are needed there. Generate fewer samples, or "
          "set XDG_CACHE_HOME to a directory on a larger disk; generated files are kept.",
          folder.string(), available * 1e-9, needed * 1e-9));
}

namespace {

// Several runs may fill a directory at once, as the jobs of an array do. A byte lock protects each file: a first pass
// generates the files that no other run is generating, a second pass waits for those. On file systems without locks two
// runs may generate the same file. Their drafts have different names and the same content, so the order of the renames
// does not matter.
class FolderFiller {
 public:
  FolderFiller(const fs::path& folder, std::vector<GeneratedFile> missing, int ranks,
               const GenerateProgress& progress, const GenerateFile& make)
      : folder_(folder),
        missing_(std::move(missing)),
        drafts_(drafts_in(folder)),
        lock_(folder / ".lock"),
        ranks_(ranks),
        progress_(progress),
        make_(make) {}

  void run() {
    tell(0);
    std::vector<GeneratedFile> busy;
    for (const GeneratedFile& file : missing_) {
      if (lock_.try_lock(lock_byte(file)))
        make_locked(file);
      else
        busy.push_back(file);
    }
    if (!busy.empty())
      log::info("another run is generating {} of the files in {}; waiting for it", busy.size(),
                folder_.string());
    for (const GeneratedFile& file : busy) {
      lock_.lock(lock_byte(file));
      make_locked(file);
    }
  }

 private:
  void tell(double share) const {
    if (progress_) progress_(done_ + share, static_cast<int>(missing_.size()));
  }

  void make_locked(const GeneratedFile& file) {
    const bool is_there = fs::exists(file.path);  // another run has finished it
    if (!is_there) {
      remove_drafts(drafts_, file);
      make_(file, [this](double share) { tell(share); });
    }
    lock_.unlock(lock_byte(file));
    tell(1);
    ++done_;
    if (!is_there) check_room_for_rest(file);
  }

  void check_room_for_rest(const GeneratedFile& file) {
    std::error_code unknown;
    bytes_ += double(fs::file_size(file.path, unknown));
    const double left = bytes_ / ++made_ * (double(missing_.size()) - done_) * ranks_;
    if (!unknown) check_room(folder_, left, double(fs::space(folder_).available));
  }

  const fs::path& folder_;
  const std::vector<GeneratedFile> missing_;
  const std::vector<fs::path> drafts_;
  os::FileLock lock_;
  const int ranks_;
  const GenerateProgress& progress_;
  const GenerateFile& make_;
  int done_ = 0, made_ = 0;
  double bytes_ = 0;  // generated by this rank; other ranks generate as much
};

}  // namespace

void generate_files(const fs::path& folder, const GeneratedFiles& files, int rank, int ranks,
                    const GenerateProgress& progress, const GenerateFile& make) {
  fs::create_directories(folder);
  std::vector<GeneratedFile> missing = missing_files(folder, files, rank, ranks);
  if (!missing.empty()) FolderFiller(folder, std::move(missing), ranks, progress, make).run();
}

}  // namespace tutti::train
