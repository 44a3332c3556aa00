// Data sets in HDF5 files: rows along the first dimension, read by number, written at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tutti::train {

inline constexpr const char* kNotFinite = "DDL-7-94";

// One thread of the process at a time may use HDF5; calls of this class wait for each other.
class H5File {
 public:
  enum class Mode { kRead, kCreate };
  // kCreate writes to a draft beside `path`, whose name no other process uses, and renames it in
  // close(): a file that has its name is whole. Without close() the draft is removed. Throws
  // IoError when the file cannot be opened or is not HDF5.
  H5File(std::filesystem::path path, Mode mode);
  ~H5File();
  H5File(H5File&& other) noexcept;
  H5File& operator=(H5File&&) = delete;

  // Adds rows of `row_shape` f32 values to the data set `name` (`group/name` for one in a group),
  // which is made, compressed, when it is missing.
  void append(const std::string& name, std::span<const std::int64_t> row_shape,
              std::span<const float> values);
  // Flushes and closes; with kCreate the file now has its name. Throws IoError.
  void close();

  bool has(const std::string& name) const;
  // Rows first. Throws IoError when there is no such data set, or it does not hold rows of numbers.
  std::vector<std::int64_t> shape(const std::string& name) const;
  // Rows `first` to `first + count` as f32, whatever type the file has, into `values`. Throws
  // IoError kNotFinite, which names file and row, when a value is not finite.
  void read(const std::string& name, std::int64_t first, std::int64_t count,
            std::span<float> values) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The files `<prefix>*.h5` and `<prefix>*.hdf5` of a folder, by name; none when it is missing.
// Throws IoError when it cannot be listed.
std::vector<std::filesystem::path> h5_files(const std::filesystem::path& folder,
                                            const std::string& prefix = "");

}  // namespace tutti::train
