// Recorded events from files, as batches for the network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "tutti/train/data/h5.h"
#include "tutti/train/data/sample_cache.h"

namespace tutti::models::hep {

struct EventInfo {
  float label = 0, weight = 1, passes_cuts = 0;
};

// The events of several files as one list. Images are sparse: their nonzero pixels are cached within the budget. Not
// thread-safe.
class EventFiles {
 public:
  // The files of `folder` whose names begin with `prefix`. Throws IoError if there are none, or if one does not have
  // data (N,3,H,W) and label. Without a budget, which must outlive this object, nothing is cached.
  EventFiles(const std::filesystem::path& folder, const std::string& prefix,
             train::SampleCacheBudget* budget = nullptr);

  std::int64_t size() const { return static_cast<std::int64_t>(infos_.size()); }
  int image_size() const { return image_size_; }
  const EventInfo& info(std::int64_t index) const {
    return infos_[static_cast<std::size_t>(index)];
  }
  // The images, concatenated, channels last (N,H,W,3), with each value x as log(1 + x) / 5, which keeps empty pixels 0
  // and the range near 1.
  void read_images(std::span<const std::int64_t> indices, float* out);

 private:
  struct Pixel {
    std::uint32_t index;
    float value;
  };
  struct Location {
    std::size_t file;
    std::int64_t row;
  };
  const std::vector<Pixel>& pixels(std::int64_t index);

  std::vector<train::H5File> files_;
  std::vector<Location> locations_;
  std::vector<EventInfo> infos_;
  train::SampleCache<Pixel> cache_;
  int image_size_ = 0;
  std::vector<float> scratch_;
};

}  // namespace tutti::models::hep
