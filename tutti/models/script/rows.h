// Samples of HDF5 files: row i of one data set goes in, row i of another should come out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/train/data/h5.h"
#include "tutti/train/data/keep_budget.h"

namespace tutti::models::script {

class RowFiles {
 public:
  // All files of `folder` whose names begin with `prefix`. Rows of `target` may be single numbers.
  // Throws IoError when there are none, or rows differ in shape between files. Without a budget,
  // which must outlive this, nothing is kept.
  RowFiles(const std::filesystem::path& folder, const std::string& prefix, std::string input,
           std::string target, train::KeepBudget* budget = nullptr);
  // One file, of which only the inputs are read.
  RowFiles(const std::filesystem::path& file, std::string input);

  std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }
  // Of one row.
  const std::vector<std::int64_t>& input_shape() const { return input_.shape; }
  const std::vector<std::int64_t>& target_shape() const { return target_.shape; }
  std::int64_t input_count() const { return input_.count; }
  std::int64_t target_count() const { return target_.count; }

  // The rows of these numbers one after the other. Rows that were read stay in memory as far
  // as the budget goes. Safe from one thread.
  void inputs(std::span<const std::int64_t> rows, float* out) { read(input_, rows, out); }
  void targets(std::span<const std::int64_t> rows, float* out) { read(target_, rows, out); }

 private:
  struct Column {
    std::string name;
    std::vector<std::int64_t> shape = {};
    std::int64_t count = -1;
    train::KeptSamples<float> kept = train::KeptSamples<float>();
  };
  struct Place {
    std::size_t file;
    std::int64_t row;
  };
  void add(const std::filesystem::path& path);
  void take_shape(Column& column, const std::filesystem::path& path);
  void read(Column& column, std::span<const std::int64_t> rows, float* out);

  Column input_, target_;
  std::vector<train::H5File> files_;
  std::vector<Place> places_;
};

}  // namespace tutti::models::script
