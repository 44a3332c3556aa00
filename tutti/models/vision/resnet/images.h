// Labelled images: generated, from HDF5 files, or from the binary files of CIFAR-10.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/core/random.h"
#include "tutti/train/data/generated_files.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/data/sample_cache.h"

namespace tutti::models::resnet {

using Image = std::vector<std::uint8_t>;  // (3,H,W): red, green and blue planes, as in CIFAR-10

// Labelled images of one size. Those of HDF5 files are read on demand and cached within the budget. Not thread-safe.
class ImageSet {
 public:
  ImageSet() = default;
  // The budget must outlive this object; without one, images of HDF5 files are not cached.
  explicit ImageSet(train::SampleCacheBudget* budget) : cache_(budget) {}
  void add(Image image, std::int64_t label);
  // `data` (N,3,H,H) from 0 to 255, `label` (N). Throws IoError if it does not fit.
  void add_h5(const std::filesystem::path& path);

  int side() const { return side_; }
  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  std::size_t image_bytes() const { return std::size_t{3} * side_ * side_; }
  const std::vector<std::int64_t>& labels() const { return labels_; }
  // Valid until the next call.
  const Image& image(std::int64_t index);

 private:
  struct Location {
    std::size_t file;
    std::int64_t row;
  };
  int side_ = 0;
  std::vector<train::H5File> files_;
  std::vector<Location> locations_;
  std::vector<std::int64_t> labels_;
  train::SampleCache<std::uint8_t> cache_;
  std::vector<float> scratch_;
};

// One of ten shapes, at random position, size, angle and aspect ratio, with one texture in front of another, partly
// hidden by a bar, blurred and noisy. Colours, textures and bars are independent of the shape.
inline constexpr int kShapes = 10;
const std::array<const char*, kShapes>& shape_names();
Image draw_image(int shape, int side, Random& random);

struct ImagePlan {
  int side = 32, classes = kShapes;
  std::int64_t train = 0, test = 0, val = 0;
  int files = 1;  // of training and test images each
  int val_files = 0;
};
// The plan for these numbers of images, including the number of files.
ImagePlan image_plan(std::int64_t train, std::int64_t test, std::int64_t val, int side,
                     int classes);

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<images>-<i>.h5`: data (N,3,H,W) from 0 to 255, label (N). Rank r of
// `ranks` generates every `ranks`-th file; existing files are kept. A file depends only on the plan and its number.
void generate(const std::filesystem::path& folder, const ImagePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

// "train" or "test" images of a directory: `train*.h5`, or data_batch_1.bin ... and test_batch.bin. Any other name is
// that of one file. Throws IoError if there are none, or if their shapes differ.
ImageSet read_images(const std::filesystem::path& folder, const std::string& name,
                     train::SampleCacheBudget* budget = nullptr);

// Mean and standard deviation of each channel, over at most 10,000 images.
struct ChannelScale {
  std::array<float, 3> mean{}, deviation{1, 1, 1};
};
ChannelScale scale_of(ImageSet& set);

// Images as f32 from 0 to 255, channels last (N,H,W,3). With `augments`, each is shifted by up to an eighth of its side
// and flipped at random, reproducibly for the same indices.
void fill_batch(ImageSet& set, std::span<const std::int64_t> indices, bool augments, float* out);

}  // namespace tutti::models::resnet
