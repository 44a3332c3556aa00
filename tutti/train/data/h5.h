// Data sets in HDF5 files: rows along the first dimension, read by index, appended at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tutti::train {

inline constexpr const char* kNotFinite = "DDL-7-94";

// Only one thread of a process may use HDF5 at a time; calls of this class wait for each other.
class H5File {
 public:
  enum class Mode { kRead, kCreate };
  // kCreate writes to a draft next to `path`, whose name no other process uses, and renames it in close(): a file with
  // its final name is complete. Without close() the draft is removed. Throws IoError if the file cannot be opened or is
  // not HDF5.
  H5File(std::filesystem::path path, Mode mode);
  ~H5File();
  H5File(H5File&& other) noexcept;
  H5File& operator=(H5File&&) = delete;

  // Appends rows of `row_shape` f32 values to the data set `name` (`group/name` for one in a group). Creates the data
  // set, compressed, if it does not exist. Throws IoError, for example if the disk is full.
  void append(const std::string& name, std::span<const std::int64_t> row_shape,
              std::span<const float> values);
  // Flushes and closes the file; with kCreate it now has its final name. Throws IoError.
  void close();

  bool has(const std::string& name) const;
  // Shape of a data set, rows first. Throws IoError if the data set does not exist or has no rows of numbers.
  std::vector<std::int64_t> shape(const std::string& name) const;
  // Reads rows `first` to `first + count` as f32, whatever type the file has, into `values`. Throws IoError kNotFinite,
  // which names file and row, if a value is not finite.
  void read(const std::string& name, std::int64_t first, std::int64_t count,
            std::span<float> values) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The files `<prefix>*.h5` and `<prefix>*.hdf5` of a directory, sorted by name; empty if it does not exist. Throws
// IoError if it cannot be listed.
std::vector<std::filesystem::path> h5_files(const std::filesystem::path& folder,
                                            const std::string& prefix = "");

}  // namespace tutti::train
