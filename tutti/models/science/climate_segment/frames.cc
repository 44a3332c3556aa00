#include "tutti/models/science/climate_segment/frames.h"

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::climate_segment {
namespace {

namespace fs = std::filesystem;
using climate::kFields;
using train::H5File;

constexpr std::uint64_t kSeed = 20181003;
constexpr std::int64_t kStatisticsFiles = 100;

std::vector<float> statistics(const climate::Frame& frame) {
  std::vector<float> stats;
  for (const climate::Plane& plane : frame.fields) {
    double sum = 0, squares = 0;
    for (float value : plane) {
      sum += value;
      squares += double{value} * value;
    }
    const double count = double(plane.size()), mean = sum / count;
    const auto [least, most] = std::minmax_element(plane.begin(), plane.end());
    stats.insert(stats.end(), {float(mean), *most, *least,
                               float(std::sqrt(std::max(0.0, squares / count - mean * mean)))});
  }
  return stats;
}

std::vector<float> as_floats(const std::vector<std::uint8_t>& values) {
  return {values.begin(), values.end()};
}

void make_file(const fs::path& path, const Grid& grid, std::uint64_t stream) {
  Random random(mixed_seed(kSeed, stream));
  const climate::Frame frame = make_frame(grid, {}, random);
  std::vector<float> fields(grid.size() * kFields);
  for (std::size_t c = 0; c < kFields; ++c)
    for (std::size_t i = 0; i < grid.size(); ++i) fields[i * kFields + c] = frame.fields[c][i];
  climate::LabelRules wider;
  wider.moisture = 21;
  const std::vector<std::int64_t> row = {grid.columns};
  H5File file(path, H5File::Mode::kCreate);
  file.append("climate/data", std::vector<std::int64_t>{grid.columns, kFields}, fields);
  file.append("climate/labels_0", row, as_floats(label_frame(frame)));
  file.append("climate/labels_1", row, as_floats(label_frame(frame, wider)));
  file.append("climate/stats", std::vector<std::int64_t>{4}, statistics(frame));
  file.append("climate/truth", row, as_floats(frame.truth));
  file.close();
}

std::vector<std::uint8_t> read_classes(const H5File& file, const std::string& name,
                                       const Grid& grid) {
  std::vector<float> values(grid.size());
  file.read(name, 0, grid.rows, values);
  std::vector<std::uint8_t> classes;
  for (float value : values)
    classes.push_back(static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 2L)));
  return classes;
}

}  // namespace

void generate(const fs::path& folder, const FramePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.train,
                                    .test = plan.test,
                                    .val = plan.val,
                                    .val_prefix = train::val_prefix(plan.val)};
  train::generate_files(folder, files, rank, ranks, progress,
                        [&](const train::GeneratedFile& file, const train::FileProgress&) {
                          make_file(file.path, plan.grid, train::stream_of(file));
                        });
}

FrameFiles::FrameFiles(const fs::path& folder, const std::string& name) {
  paths_ = fs::is_regular_file(folder / name) ? std::vector{folder / name}
                                              : train::h5_files(folder, name);
  if (paths_.empty()) paths_ = train::h5_files(folder / name);
  if (paths_.empty())
    throw IoError("DDL-7-78",
                  fmt::format("{} has neither files {}*.h5 nor a directory {} of them. Set `data` "
                              "to a directory that has them, or leave it empty.",
                              folder.string(), name, name));
  const H5File first(paths_[0], H5File::Mode::kRead);
  const auto shape = first.shape("climate/data");
  if (shape.size() != 3 || shape[2] != kFields)
    throw IoError("DDL-7-79",
                  fmt::format("{}: climate/data must be (rows, columns, 16).", paths_[0].string()));
  grid_ = {static_cast<int>(shape[0]), static_cast<int>(shape[1])};
  has_truth_ = first.has("climate/truth");
}

void FrameFiles::read(std::int64_t index, std::span<float> fields,
                      std::span<std::uint8_t> labels) const {
  const H5File file(paths_[static_cast<std::size_t>(index)], H5File::Mode::kRead);
  file.read("climate/data", 0, grid_.rows, fields);
  std::ranges::copy(read_classes(file, "climate/labels_0", grid_), labels.begin());
}

std::vector<std::uint8_t> FrameFiles::truth(std::int64_t index) const {
  const H5File file(paths_[static_cast<std::size_t>(index)], H5File::Mode::kRead);
  if (!file.has("climate/truth")) return {};
  return read_classes(file, "climate/truth", grid_);
}

// The total variance is that within frames plus that of their means.
ChannelScale FrameFiles::scale() const {
  std::array<double, kFields> sum{}, squares{};
  const std::int64_t count = std::min(size(), kStatisticsFiles);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<float> stats(kFields * 4);
    H5File(paths_[static_cast<std::size_t>(i)], H5File::Mode::kRead)
        .read("climate/stats", 0, kFields, stats);
    for (std::size_t c = 0; c < kFields; ++c) {
      const double mean = stats[4 * c], deviation = stats[4 * c + 3];
      sum[c] += mean / double(count);
      squares[c] += (deviation * deviation + mean * mean) / double(count);
    }
  }
  ChannelScale scale;
  for (std::size_t c = 0; c < kFields; ++c) {
    scale.mean[c] = float(sum[c]);
    const double variance = squares[c] - sum[c] * sum[c];
    scale.deviation[c] = variance > 0 ? float(std::sqrt(variance)) : 1.f;
  }
  return scale;
}

std::array<double, climate::kClasses> FrameFiles::frequencies() const {
  std::array<double, climate::kClasses> shares{};
  const std::int64_t count = std::min(size(), kStatisticsFiles);
  for (std::int64_t i = 0; i < count; ++i) {
    const H5File file(paths_[static_cast<std::size_t>(i)], H5File::Mode::kRead);
    for (std::uint8_t label : read_classes(file, "climate/labels_0", grid_))
      shares[label] += 1 / (double(count) * double(grid_.size()));
  }
  return shares;
}

}  // namespace tutti::models::climate_segment
