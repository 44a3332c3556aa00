// Samples of HDF5 files: row i of one data set goes in, row i of another should come out.
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
  // All files of `folder` whose names begin with `prefix`. Rows of `target` may be single numbers.
  // Throws IoError when there are none, or rows differ in shape between files. Without a budget,
  // which must outlive this, nothing is kept.
  RowFiles(const std::filesystem::path& folder, const std::string& prefix, std::string input,
           std::string target, train::SampleCacheBudget* budget = nullptr);
  // One file, of which only the inputs are read.
  RowFiles(const std::filesystem::path& file, std::string input);

  std::int64_t size() const { return static_cast<std::int64_t>(locations_.size()); }
  // Of one row.
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

  // The rows of these numbers one after the other. Rows that were read stay in memory as far
  // as the budget goes. Safe from one thread.
  void inputs(std::span<const std::int64_t> rows, float* out) { read(input_, rows, out); }
  void targets(std::span<const std::int64_t> rows, float* out) { read(target_, rows, out); }

  // The first row of those that part `part` of `parts` looks at whose target (or input) has a value
  // that is not finite or, of targets, for which `is_bad`; size() when there is none. Nothing is
  // kept.
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
    train::SampleCache<float> kept = train::SampleCache<float>();
  };
  struct Location {
    std::size_t file;
    std::int64_t row;
  };
  void add(const std::filesystem::path& path);
  void take_shape(Column& column, const std::filesystem::path& path);
  std::int64_t first_bad(const Column& column, int part, int parts,
                         const std::function<bool(float)>& is_bad) const;
  // False: a value is not finite.
  bool reads(const Column& column, const Location& location, std::int64_t rows,
             std::span<float> values) const;
  void read(Column& column, std::span<const std::int64_t> rows, float* out);

  Column input_, target_;
  std::vector<train::H5File> files_;
  std::vector<std::filesystem::path> paths_;
  std::vector<Location> locations_;
};

}  // namespace tutti::models::script
