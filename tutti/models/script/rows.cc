#include "tutti/models/script/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/error.h"

namespace tutti::models::script {

namespace fs = std::filesystem;

RowFiles::RowFiles(const fs::path& folder, const std::string& prefix, std::string input,
                   std::string target, train::SampleCacheBudget* budget)
    : input_{.name = std::move(input), .cache = train::SampleCache<float>(budget)},
      target_{.name = std::move(target), .cache = train::SampleCache<float>(budget)} {
  for (const fs::path& path : train::h5_files(folder, prefix)) add(path);
  if (locations_.empty())
    throw IoError("DDL-7-87", fmt::format("{} has no samples in files {}*.h5. Set `data` to a "
                                          "directory with train*.h5 and test*.h5.",
                                          folder.string(), prefix));
}

RowFiles::RowFiles(const fs::path& file, std::string input)
    : input_{.name = std::move(input)}, target_{} {
  add(file);
}

void RowFiles::add(const fs::path& path) {
  files_.emplace_back(path, train::H5File::Mode::kRead);
  paths_.push_back(path);
  const std::int64_t rows = files_.back().shape(input_.name).at(0);
  take_shape(input_, path);
  if (!target_.name.empty()) {
    take_shape(target_, path);
    if (const std::int64_t targets = files_.back().shape(target_.name).at(0); targets != rows)
      throw IoError(
          "DDL-7-88",
          fmt::format(
              "{}: data set '{}' has {} rows and '{}' has {}. Both must have the same number.",
              path.string(), input_.name, rows, target_.name, targets));
  }
  for (std::int64_t row = 0; row < rows; ++row) locations_.push_back({files_.size() - 1, row});
  input_.cache.add(rows);
  target_.cache.add(rows);
}

void RowFiles::take_shape(Column& column, const fs::path& path) {
  std::vector<std::int64_t> shape = files_.back().shape(column.name);
  shape.erase(shape.begin());
  if (column.count >= 0 && shape != column.shape)
    throw IoError("DDL-7-89",
                  fmt::format("{}: rows of data set '{}' have shape ({}), and in {} ({}).",
                              path.string(), column.name, fmt::join(shape, ", "), first_file(),
                              fmt::join(column.shape, ", ")));
  column.shape = shape;
  column.count = 1;
  for (std::int64_t size : shape) column.count *= size;
}

void RowFiles::read(Column& column, std::span<const std::int64_t> rows, float* out) {
  for (std::int64_t row : rows) {
    const std::vector<float>& values = column.cache.get(row, [&](std::vector<float>& read) {
      const Location& location = locations_[static_cast<std::size_t>(row)];
      read.resize(static_cast<std::size_t>(column.count));
      files_[location.file].read(column.name, location.row, 1, read);
    });
    out = std::copy(values.begin(), values.end(), out);
  }
}

RowFiles::Origin RowFiles::origin(std::int64_t row) const {
  const Location& location = locations_[static_cast<std::size_t>(row)];
  return {paths_[location.file].string(), location.row};
}

bool RowFiles::reads(const Column& column, const Location& location, std::int64_t rows,
                     std::span<float> values) const try {
  files_[location.file].read(column.name, location.row, rows, values);
  return true;
} catch (const IoError& error) {
  if (error.code() != train::kNotFinite) throw;
  return false;
}

// Adjacent rows are read together, as fast as the file allows.
std::int64_t RowFiles::first_bad(const Column& column, int part, int parts,
                                 const std::function<bool(float)>& is_bad) const {
  constexpr std::int64_t kBlockValues = 1 << 18;
  const std::int64_t count = std::max<std::int64_t>(1, column.count),
                     block = std::max<std::int64_t>(1, kBlockValues / count);
  std::vector<float> values;
  std::int64_t number = 0;
  for (std::int64_t row = 0, next; row < size(); row = next, ++number) {
    const Location& location = locations_[static_cast<std::size_t>(row)];
    for (next = row + 1; next < size() && next < row + block; ++next)
      if (locations_[static_cast<std::size_t>(next)].file != location.file) break;
    if (number % parts != part) continue;
    values.resize(static_cast<std::size_t>((next - row) * count));
    if (!reads(column, location, next - row, values)) {
      values.resize(static_cast<std::size_t>(count));
      while (reads(column, locations_[static_cast<std::size_t>(row)], 1, values)) ++row;
      return row;
    }
    if (!is_bad) continue;
    const auto bad = std::find_if(values.begin(), values.end(), is_bad);
    if (bad != values.end()) return row + (bad - values.begin()) / count;
  }
  return size();
}

}  // namespace tutti::models::script
