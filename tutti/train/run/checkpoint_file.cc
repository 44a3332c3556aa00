#include "tutti/train/run/checkpoint_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tutti/core/crc32c.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/os/atomic_file.h"
#include "tutti/os/unique_fd.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnopenedCheckpoint = "DDL-7-98";
constexpr char kMagic[8] = {'T', 'U', 'T', 'T', 'I', 'C', 'K', '1'};
constexpr std::uint32_t kTextRecord = 0, kArrayRecord = 1, kEndRecord = 2;

// A record: kind, length of the name, length of the content, checksum of name and content; then these two.
struct RecordHead {
  std::uint32_t kind, name_bytes;
  std::uint64_t bytes;
  std::uint32_t checksum, reserved;
};
static_assert(sizeof(RecordHead) == 24);

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw IoError("DDL-7-61", fmt::format("The checkpoint {}: {}.", path.string(), why));
}

void check_version(const fs::path& path, const Checkpoint& checkpoint) {
  if (checkpoint.version() <= kCheckpointVersion) return;
  throw IoError(kNewerCheckpoint,
                fmt::format("The checkpoint {} has version {}; this program reads versions up to "
                            "{}. Use the release of tutti that wrote it, or a later one.",
                            path.string(), checkpoint.version(), kCheckpointVersion));
}

// Step of a checkpoint file; -1 for other names.
std::int64_t step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  long long step = -1;
  int end = 0;
  if (std::sscanf(name.c_str(), "step-%lld.ckpt%n", &step, &end) != 1) return -1;
  return static_cast<std::size_t>(end) == name.size() ? step : -1;
}

class Writer {
 public:
  explicit Writer(fs::path path) : path_(std::move(path)) {
    file_ = os::UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file_.is_open()) fail(path_, fmt::format("cannot be written ({})", strerror(errno)));
    put(kMagic, sizeof kMagic);
  }
  void record(std::uint32_t kind, const std::string& name, const void* data, std::size_t bytes) {
    const std::uint32_t checksum = crc32c(data, bytes, crc32c(name.data(), name.size()));
    const RecordHead head{kind, static_cast<std::uint32_t>(name.size()), bytes, checksum, 0};
    put(&head, sizeof head);
    put(name.data(), name.size());
    put(data, bytes);
  }

 private:
  void put(const void* data, std::size_t bytes) {
    if (const int error = os::write_all(file_.get(), data, bytes); error != 0)
      fail(path_,
           fmt::format("cannot be written ({}); free some space and resume", strerror(error)));
  }
  fs::path path_;
  os::UniqueFd file_;
};

}  // namespace

void Checkpoint::get(const std::string& name, std::span<std::byte> values) const {
  const auto found = arrays.find(name);
  if (found == arrays.end() || found->second.size() != values.size())
    throw IoError(
        "DDL-7-62",
        fmt::format("The checkpoint has {} bytes of '{}', this model needs {}. Resume with the "
                    "options that the run was started with.",
                    found == arrays.end() ? 0 : found->second.size(), name, values.size()));
  if (!values.empty()) std::memcpy(values.data(), found->second.data(), values.size());
}

int Checkpoint::version() const {
  const auto found = texts.find("version");
  return found == texts.end() ? 1 : std::atoi(found->second.c_str());
}

void write_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  os::AtomicFile file(path, os::Writers::kOne);
  Writer writer(file.draft());
  writer.record(kTextRecord, "step", std::to_string(checkpoint.step).data(),
                std::to_string(checkpoint.step).size());
  const std::string version = std::to_string(kCheckpointVersion);
  writer.record(kTextRecord, "text.version", version.data(), version.size());
  for (const auto& [name, text] : checkpoint.texts)
    writer.record(kTextRecord, "text." + name, text.data(), text.size());
  for (const auto& [name, bytes] : checkpoint.arrays)
    writer.record(kArrayRecord, name, bytes.data(), bytes.size());
  writer.record(kEndRecord, "", nullptr, 0);
  if (const std::error_code error = file.commit(os::Durability::kDisk))
    fail(path, fmt::format("cannot be flushed to disk ({})", error.message()));
}

Checkpoint read_checkpoint(const fs::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw IoError(kUnopenedCheckpoint, fmt::format("Cannot open the checkpoint {}: {}.",
                                                   path.string(), strerror(errno)));
  const std::uint64_t file_bytes = fs::file_size(path);
  char magic[sizeof kMagic];
  if (!file.read(magic, sizeof magic) || std::memcmp(magic, kMagic, sizeof magic) != 0)
    fail(path, "is not a Tutti checkpoint");
  Checkpoint checkpoint;
  for (;;) {
    RecordHead head;
    if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) fail(path, "ends too early");
    if (head.kind > kEndRecord || head.name_bytes > file_bytes || head.bytes > file_bytes)
      fail(path, "is damaged");
    if (head.kind == kEndRecord) break;
    std::string name(head.name_bytes, 0);
    std::vector<std::byte> bytes(head.bytes);
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    if (!file.read(reinterpret_cast<char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size())))
      fail(path, "ends too early");
    if (crc32c(bytes.data(), bytes.size(), crc32c(name.data(), name.size())) != head.checksum)
      fail(path, fmt::format("the checksum of '{}' is wrong", name));
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (head.kind == kArrayRecord)
      checkpoint.arrays[name] = std::move(bytes);
    else if (name == "step")
      checkpoint.step = std::stoll(text);
    else
      checkpoint.texts[name.substr(5)] = text;
  }
  check_version(path, checkpoint);
  return checkpoint;
}

CheckpointFolder::CheckpointFolder(fs::path folder, int keep)
    : folder_(std::move(folder)), keep_(keep) {}

std::vector<fs::path> CheckpointFolder::files() const {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (step_of(entry.path()) >= 0) found.push_back(entry.path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw IoError(kUnopenedCheckpoint, fmt::format("Cannot list the checkpoints in {}: {}.",
                                                   folder_.string(), error.message()));
  std::sort(found.begin(), found.end(),
            [](const fs::path& a, const fs::path& b) { return step_of(a) < step_of(b); });
  return found;
}

void CheckpointFolder::write(const Checkpoint& checkpoint) {
  fs::create_directories(folder_);
  write_checkpoint(folder_ / fmt::format("step-{:012}.ckpt", checkpoint.step), checkpoint);
  std::vector<fs::path> all = files();
  for (; !all.empty() && step_of(all.back()) > checkpoint.step; all.pop_back())
    fs::remove(all.back());
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep_) < all.size(); ++i) fs::remove(all[i]);
}

void CheckpointFolder::write_best(const Checkpoint& checkpoint) {
  fs::create_directories(folder_);
  write_checkpoint(folder_ / "best.ckpt", checkpoint);
}

std::optional<Checkpoint> CheckpointFolder::newest() const {
  std::vector<fs::path> all = files();
  for (auto file = all.rbegin(); file != all.rend(); ++file) {
    try {
      return read_checkpoint(*file);
    } catch (const IoError& error) {
      if (error.code() == kNewerCheckpoint || error.code() == kUnopenedCheckpoint) throw;
      log::warning("{} It is skipped.", error.what());
    }
  }
  return std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::best() const {
  if (!fs::exists(folder_ / "best.ckpt")) return std::nullopt;
  return read_checkpoint(folder_ / "best.ckpt");
}

}  // namespace tutti::train
