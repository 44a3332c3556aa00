// Checkpoint files: named arrays of bytes with checksums, written atomically. docs/formats/checkpoint.md specifies the
// format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::train {

struct Checkpoint {
  std::int64_t step = 0;
  std::map<std::string, std::string> texts;              // counters, names, settings
  std::map<std::string, std::vector<std::byte>> arrays;  // weights, optimizer state, ...

  template <class T>
  void put(const std::string& name, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    arrays[name].assign(bytes.begin(), bytes.end());
  }
  // Copies the array into `values`; throws IoError if it is missing or has another size.
  void get(const std::string& name, std::span<std::byte> values) const;
  // Format version of the program that wrote it.
  int version() const;
};

// Version 1 did not have the position in the data; versions 1 and 2 had all buffers as f32.
inline constexpr int kCheckpointVersion = 3;
inline constexpr const char* kNewerCheckpoint = "DDL-7-69";

// Writes next to `path`, flushes to disk and renames. Throws IoError on failure; the old file is then unchanged.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
// Throws IoError if the file is not a complete checkpoint or a checksum is wrong; with code kNewerCheckpoint if a later
// release has written it.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// The checkpoints of a run: `<folder>/step-<n>.ckpt`, with twelve digits so that names sort by step, and `best.ckpt`.
class CheckpointFolder {
 public:
  CheckpointFolder(std::filesystem::path folder, int keep);

  // Writes a checkpoint, then removes the oldest ones except `keep`, and those of later steps, which were unreadable
  // when the run was resumed from an earlier one. Throws as write_checkpoint; no checkpoint is removed then.
  void write(const Checkpoint& checkpoint);
  // Replaces `best.ckpt`. Throws as write_checkpoint.
  void write_best(const Checkpoint& checkpoint);
  // The newest readable checkpoint; damaged ones are skipped with a warning. Throws IoError if a later release has
  // written it, or if the directory or a file cannot be opened: resuming from an earlier one would discard it.
  std::optional<Checkpoint> newest() const;
  std::optional<Checkpoint> best() const;

 private:
  std::vector<std::filesystem::path> files() const;  // oldest first

  std::filesystem::path folder_;
  int keep_;
};

}  // namespace tutti::train
