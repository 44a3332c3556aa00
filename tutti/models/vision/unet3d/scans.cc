#include "tutti/models/vision/unet3d/scans.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/models/vision/unet3d/subject.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;
using train::H5File;

constexpr std::uint64_t kSeed = 20160620;

void make_file(const fs::path& path, int side, std::uint64_t stream) {
  Random random(mixed_seed(kSeed, stream));
  const Scan scan = make_scan(side, random);
  H5File file(path, H5File::Mode::kCreate);
  file.append("data", std::vector<std::int64_t>{kModalities, side, side, side}, scan.images);
  file.append("truth", std::vector<std::int64_t>{1, side, side, side},
              std::vector<float>(scan.labels.begin(), scan.labels.end()));
  file.close();
}

}  // namespace

void generate(const fs::path& folder, const ScanPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.train,
                                    .test = plan.test,
                                    .val = plan.val,
                                    .val_prefix = train::val_prefix(plan.val)};
  train::generate_files(folder, files, rank, ranks, progress,
                        [&](const train::GeneratedFile& file, const train::FileProgress&) {
                          make_file(file.path, plan.side, train::stream_of(file));
                        });
}

ScanFiles::ScanFiles(const fs::path& folder, const std::string& name, int side, bool needs_truth)
    : side_(side), needs_truth_(needs_truth) {
  for (const fs::path& path : train::h5_files(folder, name)) add_file(path);
  std::vector<fs::path> subjects;
  if (is_subject(folder / name))
    subjects = {folder / name};
  else if (locations_.empty() && fs::is_directory(folder / name))
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / name))
      if (is_subject(entry.path())) subjects.push_back(entry.path());
  std::ranges::sort(subjects);
  for (const fs::path& path : subjects) locations_.push_back({path, kSubject});
  if (locations_.empty())
    throw IoError(
        "DDL-7-68",
        fmt::format("{} has neither scans in files {}*.h5 nor a directory {} of subjects. Set "
                    "`data` to a directory that has them, or leave it empty.",
                    folder.string(), name, name));
}

void ScanFiles::add_file(const fs::path& path) {
  const H5File file(path, H5File::Mode::kRead);
  const std::vector<std::int64_t> data = file.shape("data");
  const bool has_truth = needs_truth_ || file.has("truth");
  const bool fits =
      data.size() == 5 && data[1] == kModalities && data[2] == data[3] && data[3] == data[4] &&
      (!has_truth ||
       file.shape("truth") == std::vector<std::int64_t>{data[0], 1, data[2], data[3], data[4]});
  if (!fits)
    throw IoError("DDL-7-67", fmt::format("{}: `data` must be (N,4,S,S,S) and `truth` (N,1,S,S,S).",
                                          path.string()));
  if (data[2] != side_)
    throw IoError("DDL-7-67", fmt::format("{} has a side of {} voxels, not {}. Set volume={}.",
                                          path.string(), data[2], side_, data[2]));
  for (std::int64_t row = 0; row < data[0]; ++row) locations_.push_back({path, row});
}

Scan ScanFiles::read(std::int64_t index) const {
  const Location& location = locations_[static_cast<std::size_t>(index)];
  if (location.row == kSubject) return read_subject(location.path, side_, needs_truth_);
  const auto side = static_cast<std::size_t>(side_), voxels = side * side * side;
  Scan scan{std::vector<float>(kModalities * voxels), {}};
  const H5File file(location.path, H5File::Mode::kRead);
  file.read("data", location.row, 1, scan.images);
  std::vector<float> labels(voxels);
  if (file.has("truth")) file.read("truth", location.row, 1, labels);
  scan.labels.assign(labels.begin(), labels.end());
  return scan;
}

}  // namespace tutti::models::unet3d
