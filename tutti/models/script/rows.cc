#include "tutti/models/script/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/error.h"

namespace tutti::models::script {

namespace fs = std::filesystem;

RowFiles::RowFiles(const fs::path& folder, const std::string& prefix, std::string input,
                   std::string target, train::KeepBudget* budget)
    : input_{.name = std::move(input), .kept = train::KeptSamples<float>(budget)},
      target_{.name = std::move(target), .kept = train::KeptSamples<float>(budget)} {
  for (const fs::path& path : train::h5_files(folder))
    if (path.filename().string().starts_with(prefix)) add(path);
  if (places_.empty())
    throw IoError("DDL-7-87", fmt::format("{} has no samples in files {}*.h5. Set `data` to a "
                                          "folder with train*.h5 and test*.h5.",
                                          folder.string(), prefix));
}

RowFiles::RowFiles(const fs::path& file, std::string input)
    : input_{.name = std::move(input)}, target_{} {
  add(file);
}

void RowFiles::add(const fs::path& path) {
  files_.emplace_back(path, train::H5File::Mode::kRead);
  const std::int64_t rows = files_.back().shape(input_.name).at(0);
  take_shape(input_, path);
  if (!target_.name.empty()) {
    take_shape(target_, path);
    if (files_.back().shape(target_.name).at(0) != rows)
      throw IoError("DDL-7-88", fmt::format("{}: `{}` and `{}` must have as many rows.",
                                            path.string(), input_.name, target_.name));
  }
  for (std::int64_t row = 0; row < rows; ++row) places_.push_back({files_.size() - 1, row});
  input_.kept.add(rows);
  target_.kept.add(rows);
}

void RowFiles::take_shape(Column& column, const fs::path& path) {
  std::vector<std::int64_t> shape = files_.back().shape(column.name);
  shape.erase(shape.begin());
  if (column.count >= 0 && shape != column.shape)
    throw IoError("DDL-7-89",
                  fmt::format("{}: rows of `{}` have another shape than in the files before it.",
                              path.string(), column.name));
  column.shape = shape;
  column.count = 1;
  for (std::int64_t size : shape) column.count *= size;
}

void RowFiles::read(Column& column, std::span<const std::int64_t> rows, float* out) {
  for (std::int64_t row : rows) {
    const std::vector<float>& values = column.kept.get(row, [&](std::vector<float>& read) {
      const Place& place = places_[static_cast<std::size_t>(row)];
      read.resize(static_cast<std::size_t>(column.count));
      files_[place.file].read(column.name, place.row, 1, read);
    });
    out = std::copy(values.begin(), values.end(), out);
  }
}

}  // namespace tutti::models::script
