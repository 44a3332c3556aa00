// Labelled pictures: made by us, from our HDF5 files, or from the binary files of CIFAR-10.
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

using Image = std::vector<std::uint8_t>;  // (3,H,W): all red, all green, all blue, as in CIFAR-10

// Labelled pictures of one side. Those of HDF5 files are read when they are wanted, and kept in
// memory as far as the budget goes. Not safe from several threads.
class ImageSet {
 public:
  ImageSet() = default;
  // The budget must outlive this; without one, nothing of HDF5 files is kept.
  explicit ImageSet(train::SampleCacheBudget* budget) : kept_(budget) {}
  void add(Image image, std::int64_t label);
  // `data` (N,3,H,H) from 0 to 255, `label` (N). Throws IoError when it does not fit.
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
  train::SampleCache<std::uint8_t> kept_;
  std::vector<float> scratch_;
};

// One of ten shapes, at any place, size, angle and proportion, in one texture before another of
// other colours, behind a bar, blurred and noisy. Colours, textures and bars say nothing about the
// shape.
inline constexpr int kShapes = 10;
const std::array<const char*, kShapes>& shape_names();
Image draw_image(int shape, int side, Random& random);

struct ImagePlan {
  int side = 32, classes = kShapes;
  std::int64_t train = 0, test = 0, val = 0;
  int files = 1;  // of training and test pictures each
  int val_files = 0;
};
// With the files that so many pictures of each kind are dealt to.
ImagePlan image_plan(std::int64_t train, std::int64_t test, std::int64_t val, int side,
                     int classes);

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<pictures>-<i>.h5`: data (N,3,H,W) from 0 to 255,
// label (N). Rank r of `ranks` makes every `ranks`-th file; files that are there are left alone. A
// file depends on nothing but the plan and its number.
void generate(const std::filesystem::path& folder, const ImagePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

// "train" or "test" pictures of a folder: `train*.h5`, or data_batch_1.bin ... and test_batch.bin.
// Any other name is that of one file. Throws IoError when there are none, or when their shapes
// differ.
ImageSet read_images(const std::filesystem::path& folder, const std::string& name,
                     train::SampleCacheBudget* budget = nullptr);

// Mean and spread of each channel; of more than 10,000 pictures, of so many of them.
struct ChannelScale {
  std::array<float, 3> mean{}, deviation{1, 1, 1};
};
ChannelScale scale_of(ImageSet& set);

// Pictures as f32 from 0 to 255 with the channels of a pixel together (N,H,W,3). With `augments`,
// each is shifted by up to an eighth of its side and mirrored or not: by chance, but the same
// indices give the same.
void fill_batch(ImageSet& set, std::span<const std::int64_t> indices, bool augments, float* out);

}  // namespace tutti::models::resnet
