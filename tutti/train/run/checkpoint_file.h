// Checkpoints as files: named arrays of bytes with checksums, written so that a reader, or a
// machine that lost its power, never sees half of one. docs/formats/checkpoint.md describes every
// byte.
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
  std::map<std::string, std::vector<std::byte>> arrays;  // weights, state of the optimiser, ...

  template <class T>
  void put(const std::string& name, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    arrays[name].assign(bytes.begin(), bytes.end());
  }
  // Copies the array into `values`; throws IoError when it is missing or has another size.
  void get(const std::string& name, std::span<std::byte> values) const;
  // Of the program that wrote it.
  int version() const;
};

// 1 did not have the position in the data; 1 and 2 had all buffers as f32.
inline constexpr int kCheckpointVersion = 3;
inline constexpr const char* kNewerCheckpoint = "DDL-7-69";

// Writes beside `path`, flushes to the disk and renames. Throws IoError when that fails; the old
// file is then untouched.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
// Throws IoError when the file is not a whole checkpoint or a checksum is wrong; with code
// kNewerCheckpoint when a later version of us has written it.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// The checkpoints of a run: `<folder>/step-<n>.ckpt`, twelve digits so that names sort as steps do,
// and `best.ckpt`.
class CheckpointFolder {
 public:
  CheckpointFolder(std::filesystem::path folder, int keep);

  // Writes it, then removes the oldest so that `keep` stay; and those of later steps, which could
  // not be read when the run went on from an earlier one.
  void write(const Checkpoint& checkpoint);
  void write_best(const Checkpoint& checkpoint);
  // The newest that can be read; damaged ones are passed over with a warning. Throws IoError when a
  // later version of us has written it, or when the folder or a file cannot be opened: going on
  // from an earlier one would throw away what is there.
  std::optional<Checkpoint> newest() const;
  std::optional<Checkpoint> best() const;

 private:
  std::vector<std::filesystem::path> files() const;  // oldest first

  std::filesystem::path folder_;
  int keep_;
};

}  // namespace tutti::train
