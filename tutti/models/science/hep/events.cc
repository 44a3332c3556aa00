#include "tutti/models/science/hep/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"

namespace tutti::models::hep {
namespace {

std::vector<float> column(const train::H5File& file, const std::string& name, std::int64_t rows,
                          float missing) {
  std::vector<float> values(static_cast<std::size_t>(rows), missing);
  if (file.has(name)) file.read(name, 0, rows, values);
  return values;
}

}  // namespace

EventFiles::EventFiles(const std::filesystem::path& folder, const std::string& prefix,
                       train::SampleCacheBudget* budget)
    : cache_(budget) {
  for (const auto& path : train::h5_files(folder, prefix)) {
    files_.emplace_back(path, train::H5File::Mode::kRead);
    const train::H5File& file = files_.back();
    const std::vector<std::int64_t> shape = file.shape("data");
    if (shape.size() != 4 || shape[1] != 3 || shape[2] != shape[3] ||
        (image_size_ != 0 && image_size_ != shape[2]))
      throw IoError(
          "DDL-7-67",
          fmt::format("{}: `data` must be (N,3,H,H) with the same H in all files.", path.string()));
    image_size_ = static_cast<int>(shape[2]);
    const auto labels = column(file, "label", shape[0], 0),
               weights = column(file, "weight", shape[0], 1),
               cuts = column(file, "psr", shape[0], 0);
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      const auto i = static_cast<std::size_t>(row);
      locations_.push_back({files_.size() - 1, row});
      infos_.push_back({labels[i], weights[i], cuts[i]});
    }
  }
  if (infos_.empty())
    throw IoError("DDL-7-68", fmt::format("{} has no events in files {}*.h5. Set `data` to a "
                                          "directory that has them, or leave it empty.",
                                          folder.string(), prefix));
  cache_.add(size());
  scratch_.resize(static_cast<std::size_t>(3 * image_size_ * image_size_));
}

const std::vector<EventFiles::Pixel>& EventFiles::pixels(std::int64_t index) {
  return cache_.get(index, [&](std::vector<Pixel>& out) {
    const Location& location = locations_[static_cast<std::size_t>(index)];
    files_[location.file].read("data", location.row, 1, scratch_);
    const auto pixels = static_cast<std::uint32_t>(image_size_ * image_size_);
    for (std::uint32_t i = 0; i < scratch_.size(); ++i)
      if (scratch_[i] != 0)
        out.push_back({i % pixels * 3 + i / pixels, std::log1p(std::max(0.f, scratch_[i])) / 5});
  });
}

void EventFiles::read_images(std::span<const std::int64_t> indices, float* out) {
  const std::size_t values = scratch_.size();
  std::fill_n(out, values * indices.size(), 0.f);
  for (std::int64_t index : indices) {
    for (const Pixel& pixel : pixels(index)) out[pixel.index] = pixel.value;
    out += values;
  }
}

}  // namespace tutti::models::hep
