#include "tutti/models/science/climate_detect/frames.h"

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/core/random.h"

namespace tutti::models::climate_detect {
namespace {

namespace fs = std::filesystem;
using climate::kFields;
using train::H5File;

constexpr std::uint64_t kSeed = 20161207;
constexpr std::int64_t kFramesPerFile = 20, kStatisticsFrames = 40;

// Boxes of which cropping leaves at least half.
std::vector<float> box_rows(const climate::Frame& frame, int columns) {
  std::vector<float> rows;
  for (const climate::Storm& storm : frame.storms) {
    Box box = storm.box;
    const double before = box.column_max - box.column_min;
    box.column_max = std::min(box.column_max, double(columns));
    if (box.column_max - box.column_min < before / 2 || rows.size() == kMostBoxes * 5) continue;
    rows.insert(rows.end(), {float(box.row_min), float(box.column_min), float(box.row_max),
                             float(box.column_max), float(storm.kind)});
  }
  rows.resize(kMostBoxes * 5, -1.f);
  return rows;
}

void make_file(const fs::path& path, const FramePlan& plan, std::int64_t count,
               std::uint64_t stream, const train::FileProgress& report_progress) {
  Random random(mixed_seed(kSeed, stream));
  const climate::Grid grid{plan.rows, plan.rows * 3 / 2};
  const std::vector<std::int64_t> shape = {kFields, plan.rows, plan.columns};
  H5File file(path, H5File::Mode::kCreate);
  std::vector<float> image;
  for (std::int64_t k = 0; k < count; ++k) {
    const climate::Frame frame = make_frame(grid, {}, random);
    image.clear();
    for (climate::Field field : file_order())
      for (int row = 0; row < grid.rows; ++row) {
        const auto line =
            frame.fields[field].begin() + static_cast<std::ptrdiff_t>(grid.at(row, 0));
        image.insert(image.end(), line, line + plan.columns);
      }
    file.append("images", shape, image);
    file.append("boxes", std::vector<std::int64_t>{kMostBoxes, 5}, box_rows(frame, plan.columns));
    report_progress(double(k + 1) / double(count));
  }
  file.close();
}

}  // namespace

const std::array<climate::Field, kFields>& file_order() {
  using namespace climate;
  static const std::array<Field, kFields> order = {kPRECT, kPS,     kPSL,  kQREFHT, kT200, kT500,
                                                   kTMQ,   kTREFHT, kTS,   kU850,   kUBOT, kV850,
                                                   kVBOT,  kZ1000,  kZ200, kZBOT};
  return order;
}

void generate(const fs::path& folder, const FramePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.train,
                                    .test = plan.test,
                                    .val = plan.val,
                                    .per_file = kFramesPerFile,
                                    .digits = 4,
                                    .val_prefix = train::val_prefix(plan.val)};
  train::generate_files(
      folder, files, rank, ranks, progress,
      [&](const train::GeneratedFile& file, const train::FileProgress& report_progress) {
        make_file(file.path, plan, file.last - file.first, train::stream_of(file), report_progress);
      });
}

FrameFiles::FrameFiles(const fs::path& folder, const std::string& name) {
  for (const fs::path& path : train::h5_files(folder, name)) {
    files_.emplace_back(path, H5File::Mode::kRead);
    const auto shape = files_.back().shape("images"), box_shape = files_.back().shape("boxes");
    if (shape.size() != 4 || shape[1] != kFields || box_shape.size() != 3 || box_shape[2] != 5 ||
        box_shape[0] != shape[0] || (rows_ != 0 && (rows_ != shape[2] || columns_ != shape[3])))
      throw IoError(
          "DDL-7-81",
          fmt::format("{}: images must be (N, 16, rows, columns), alike in all files, and "
                      "boxes (N, n, 5).",
                      path.string()));
    rows_ = static_cast<int>(shape[2]);
    columns_ = static_cast<int>(shape[3]);
    std::vector<float> values(static_cast<std::size_t>(shape[0] * box_shape[1] * 5));
    files_.back().read("boxes", 0, shape[0], values);
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      locations_.push_back({files_.size() - 1, row});
      boxes_.emplace_back();
      for (std::int64_t i = 0; i < box_shape[1]; ++i) {
        const float* v = values.data() + (row * box_shape[1] + i) * 5;
        if (v[4] >= 0 && v[4] < kKinds)
          boxes_.back().push_back({{v[0], v[1], v[2], v[3]}, static_cast<int>(v[4])});
      }
    }
  }
  if (boxes_.empty())
    throw IoError("DDL-7-82", fmt::format("{} has no frames in files {}*.h5. Set `data` to a "
                                          "directory that has them, or leave it empty.",
                                          folder.string(), name));
}

void FrameFiles::image(std::int64_t index, std::span<float> values) const {
  const Location& location = locations_[static_cast<std::size_t>(index)];
  files_[location.file].read("images", location.row, 1, values);
}

void FrameFiles::scale(std::span<float> mean, std::span<float> deviation) const {
  const std::size_t plane = static_cast<std::size_t>(rows_) * columns_;
  std::vector<float> values(plane * kFields);
  std::vector<double> sum(kFields), squares(kFields);
  const std::int64_t count = std::min(size(), kStatisticsFrames);
  for (std::int64_t k = 0; k < count; ++k) {
    image(k * size() / count, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum[i / plane] += values[i];
      squares[i / plane] += double{values[i]} * values[i];
    }
  }
  const double all = double(count) * double(plane);
  for (std::size_t c = 0; c < kFields; ++c) {
    mean[c] = float(sum[c] / all);
    const double variance = squares[c] / all - std::pow(sum[c] / all, 2);
    deviation[c] = variance > 0 ? float(std::sqrt(variance)) : 1.f;
  }
}

}  // namespace tutti::models::climate_detect
