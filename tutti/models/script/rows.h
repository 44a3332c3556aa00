// Samples of HDF5 files: row i of one data set is the input, row i of another the target.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tutti/train/data/h5.h"
#include "tutti/train/data/sample_cache.h"

namespace tutti::models::script {

class RowFiles {
 public:
  // All files of `folder` whose names begin with `prefix`. Rows of `target` may be single numbers. Throws IoError if
  // there are none, or if rows differ in shape between files. Without a budget, which must outlive this object, nothing
  // is cached.
  RowFiles(const std::filesystem::path& folder, const std::string& prefix, std::string input,
           std::string target, train::SampleCacheBudget* budget = nullptr);
  // One file, of which only the inputs are read.
  RowFiles(const std::filesystem::path& file, std::string input);

  std::int64_t size() const { return static_cast<std::int64_t>(locations_.size()); }
  // Shape of one row.
  const std::vector<std::int64_t>& input_shape() const { return input_.shape; }
  const std::vector<std::int64_t>& target_shape() const { return target_.shape; }
  std::int64_t input_count() const { return input_.count; }
  std::int64_t target_count() const { return target_.count; }
  const std::string& input_name() const { return input_.name; }
  const std::string& target_name() const { return target_.name; }
  std::string first_file() const { return paths_.front().string(); }
  // File and row of a sample.
  struct Origin {
    std::string file;
    std::int64_t row;
  };
  Origin origin(std::int64_t row) const;

  // The rows with these indices, concatenated. Rows are cached within the budget. Not thread-safe.
  void inputs(std::span<const std::int64_t> rows, float* out) { read(input_, rows, out); }
  void targets(std::span<const std::int64_t> rows, float* out) { read(target_, rows, out); }

  // The first row, among those of part `part` of `parts`, whose target (or input) is not finite or, for targets, for
  // which `is_bad`; size() if there is none. Nothing is cached.
  std::int64_t first_bad_target(int part, int parts,
                                const std::function<bool(float)>& is_bad) const {
    return first_bad(target_, part, parts, is_bad);
  }
  std::int64_t first_bad_input(int part, int parts) const {
    return first_bad(input_, part, parts, {});
  }

 private:
  struct Column {
    std::string name;
    std::vector<std::int64_t> shape = {};
    std::int64_t count = -1;
    train::SampleCache<float> cache = train::SampleCache<float>();
  };
  struct Location {
    std::size_t file;
    std::int64_t row;
  };
  void add(const std::filesystem::path& path);
  void take_shape(Column& column, const std::filesystem::path& path);
  std::int64_t first_bad(const Column& column, int part, int parts,
                         const std::function<bool(float)>& is_bad) const;
  // Returns false if a value is not finite.
  bool reads(const Column& column, const Location& location, std::int64_t rows,
             std::span<float> values) const;
  void read(Column& column, std::span<const std::int64_t> rows, float* out);

  Column input_, target_;
  std::vector<train::H5File> files_;
  std::vector<std::filesystem::path> paths_;
  std::vector<Location> locations_;
};

}  // namespace tutti::models::script
