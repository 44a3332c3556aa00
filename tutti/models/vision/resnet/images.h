// Labelled pictures: made by us, from our HDF5 files, or from the binary files of CIFAR-10.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tutti/train/run/sampler.h"

namespace tutti::models::resnet {

// Pictures (N,3,H,W) in bytes: all red, all green, all blue, as in CIFAR-10.
struct ImageSet {
  int side = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  std::size_t picture_bytes() const { return std::size_t{3} * side * side; }
};

// One of ten shapes, at any place, size, angle and proportion, in one texture before another of
// other colours, behind a bar, blurred and noisy. Colours, textures and bars say nothing about the
// shape.
inline constexpr int kShapes = 10;
const std::array<const char*, kShapes>& shape_names();
std::vector<std::uint8_t> draw_picture(int shape, int side, train::Random& random);

struct ImagePlan {
  int side = 32, classes = kShapes;
  std::int64_t train = 0, test = 0;
  int files = 1;  // of each kind
};
ImagePlan image_plan(std::int64_t train, std::int64_t test, int side, int classes);

// Writes `train-<i>.h5` and `test-<i>.h5`: data (N,3,H,W) from 0 to 255, label (N). Rank r of
// `ranks` makes every `ranks`-th file; files that are there are left alone. A file depends on
// nothing but the plan and its number.
void generate(const std::filesystem::path& folder, const ImagePlan& plan, int rank, int ranks,
              const std::function<void(int, int)>& progress = {});

// "train" or "test" pictures of a folder: `train*.h5`, or data_batch_1.bin ... and test_batch.bin.
// Any other name is that of one file. Throws IoError when there are none, or when their shapes
// differ.
ImageSet read_images(const std::filesystem::path& folder, const std::string& name);

// Mean and spread of each channel.
struct ChannelScale {
  std::array<float, 3> mean{}, spread{1, 1, 1};
};
ChannelScale scale_of(const ImageSet& set);

// Pictures as f32 from 0 to 255 with the channels of a pixel together (N,H,W,3). With `augments`,
// each is shifted by up to an eighth of its side and mirrored or not: by chance, but the same
// indices give the same.
void fill_batch(const ImageSet& set, std::span<const std::int64_t> indices, bool augments,
                float* out);

}  // namespace tutti::models::resnet
