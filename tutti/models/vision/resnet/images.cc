#include "tutti/models/vision/resnet/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::resnet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSeed = 20151210;
constexpr int kCifarSide = 32;
constexpr std::int64_t kScaleImages = 10000;

void make_file(const fs::path& path, const ImagePlan& plan, std::int64_t count,
               std::uint64_t number, const train::FileProgress& report_progress) {
  Random random(mixed_seed(kSeed, number));
  train::H5File file(path, train::H5File::Mode::kCreate);
  std::vector<float> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const int shape = static_cast<int>(i % plan.classes);
    const std::vector<std::uint8_t> bytes = draw_image(shape, plan.side, random);
    const std::vector<float> values(bytes.begin(), bytes.end());
    file.append("data", std::vector<std::int64_t>{3, plan.side, plan.side}, values);
    labels.push_back(static_cast<float>(shape));
    report_progress(double(i + 1) / double(count));
  }
  file.append("label", {}, labels);
  file.close();
}

[[noreturn]] void reject(const fs::path& path, const char* what) {
  throw IoError("DDL-7-76", fmt::format("{}: {}.", path.string(), what));
}

void read_cifar(const fs::path& path, ImageSet& set) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const std::size_t record = 1 + std::size_t{3} * kCifarSide * kCifarSide;
  if (bytes.empty() || bytes.size() % record != 0)
    reject(path, "the size of a CIFAR-10 file must be a multiple of 3073 bytes");
  for (std::size_t at = 0; at < bytes.size(); at += record)
    set.add(Image(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + record)),
            static_cast<std::uint8_t>(bytes[at]));
}

// Augmentation of one image in a batch.
struct View {
  int right = 0, down = 0;
  bool is_mirrored = false;
};

// Pixels that a shift leaves empty repeat the nearest one.
void copy_image(const std::uint8_t* image, int side, const View& view, float* out) {
  for (int row = 0; row < side; ++row)
    for (int column = 0; column < side; ++column, out += 3) {
      const int from = view.is_mirrored ? side - 1 - column : column;
      const int y = std::clamp(row + view.down, 0, side - 1),
                x = std::clamp(from + view.right, 0, side - 1);
      for (int c = 0; c < 3; ++c) out[c] = float(image[(c * side + y) * side + x]);
    }
}

}  // namespace

void ImageSet::add(Image image, std::int64_t label) {
  side_ = static_cast<int>(std::lround(std::sqrt(double(image.size()) / 3)));
  locations_.push_back({});
  labels_.push_back(label);
  cache_.add(std::move(image));
}

void ImageSet::add_h5(const fs::path& path) {
  files_.emplace_back(path, train::H5File::Mode::kRead);
  const train::H5File& file = files_.back();
  const std::vector<std::int64_t> shape = file.shape("data");
  if (shape.size() != 4 || shape[1] != 3 || shape[2] != shape[3] ||
      (side_ != 0 && side_ != shape[2]))
    reject(path, "`data` must be (N,3,H,H) with the same H in all files");
  side_ = static_cast<int>(shape[2]);
  std::vector<float> labels(static_cast<std::size_t>(shape[0]));
  file.read("label", 0, shape[0], labels);
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    locations_.push_back({files_.size() - 1, row});
    labels_.push_back(std::lround(labels[static_cast<std::size_t>(row)]));
  }
  cache_.add(shape[0]);
}

const Image& ImageSet::image(std::int64_t index) {
  return cache_.get(index, [&](Image& out) {
    const Location& location = locations_[static_cast<std::size_t>(index)];
    scratch_.resize(image_bytes());
    files_[location.file].read("data", location.row, 1, scratch_);
    for (float value : scratch_)
      out.push_back(static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)));
  });
}

ImagePlan image_plan(std::int64_t train, std::int64_t test, std::int64_t val, int side,
                     int classes) {
  auto files_of = [](std::int64_t images) {
    return static_cast<int>(std::clamp<std::int64_t>(images / 1000, 2, 64));
  };
  return {side,
          std::min(classes, kShapes),
          train,
          test,
          val,
          files_of(std::max(train, test)),
          val > 0 ? files_of(val) : 0};
}

void generate(const fs::path& folder, const ImagePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.files,
                                    .test = plan.files,
                                    .val = plan.val_files,
                                    .digits = 3,
                                    .val_prefix = train::val_prefix(plan.val)};
  const std::int64_t images[] = {plan.train / plan.files, plan.test / plan.files,
                                 plan.val / std::max(1, plan.val_files)};
  train::generate_files(
      folder, files, rank, ranks, progress,
      [&](const train::GeneratedFile& file, const train::FileProgress& report_progress) {
        const auto kind = static_cast<std::size_t>(file.kind);
        const std::uint64_t before = kind * static_cast<std::uint64_t>(plan.files);
        make_file(file.path, plan, images[kind], before + static_cast<std::uint64_t>(file.number),
                  report_progress);
      });
}

ImageSet read_images(const fs::path& folder, const std::string& name,
                     train::SampleCacheBudget* budget) {
  ImageSet set(budget);
  if (fs::is_regular_file(folder / name)) {
    if (fs::path(name).extension() == ".bin")
      read_cifar(folder / name, set);
    else
      set.add_h5(folder / name);
    return set;
  }
  for (const fs::path& path : train::h5_files(folder, name)) set.add_h5(path);
  if (set.size() == 0 && name == "test" && fs::exists(folder / "test_batch.bin"))
    read_cifar(folder / "test_batch.bin", set);
  for (int i = 1; set.size() == 0 || i > 1; ++i) {
    const fs::path path = folder / fmt::format("data_batch_{}.bin", i);
    if (name != "train" || !fs::exists(path)) break;
    read_cifar(path, set);
  }
  if (set.size() == 0)
    reject(folder,
           "has no images: neither train*.h5 and test*.h5, nor data_batch_1.bin and test_batch.bin "
           "of CIFAR-10. Set `data` to a directory that has them, or leave it empty");
  return set;
}

ChannelScale scale_of(ImageSet& set) {
  std::array<double, 3> sum{}, squares{};
  const std::size_t plane = set.image_bytes() / 3;
  const std::int64_t looked_at = std::min(set.size(), kScaleImages);
  for (std::int64_t k = 0; k < looked_at; ++k) {
    const Image& image = set.image(k * set.size() / looked_at);
    for (std::size_t i = 0; i < image.size(); ++i) {
      sum[i / plane] += image[i];
      squares[i / plane] += double{float(image[i])} * image[i];
    }
  }
  ChannelScale scale;
  for (std::size_t c = 0; c < 3; ++c) {
    const double count = std::max(1.0, double(looked_at) * double(plane)), mean = sum[c] / count;
    scale.mean[c] = static_cast<float>(mean);
    scale.deviation[c] =
        static_cast<float>(std::sqrt(std::max(1.0, squares[c] / count - mean * mean)));
  }
  return scale;
}

void fill_batch(ImageSet& set, std::span<const std::int64_t> indices, bool augments, float* out) {
  std::uint64_t seed = indices.size();  // of the batch; differs between epochs
  for (std::int64_t index : indices) seed = mixed_seed(seed, std::uint64_t(index));
  Random random(seed);
  const int reach = set.side() / 8;
  for (std::int64_t index : indices) {
    View view;
    if (augments) {
      const auto shifts = static_cast<std::uint64_t>(2 * reach + 1);
      view = {int(random.below(shifts)) - reach, int(random.below(shifts)) - reach,
              random.below(2) == 1};
    }
    copy_image(set.image(index).data(), set.side(), view, out);
    out += set.image_bytes();
  }
}

}  // namespace tutti::models::resnet
