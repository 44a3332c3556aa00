// How often the network is right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/vision/resnet/images.h"

namespace tutti::models::resnet {

// Counts of (true class, named class), and of pictures whose class was among the first five.
class Confusion {
 public:
  explicit Confusion(int classes)
      : classes_(classes), counts_(static_cast<std::size_t>(classes) * classes + 1) {}
  // `best`: the classes that the network names, the likeliest first.
  void add(std::int64_t label, std::span<const std::int64_t> best);
  int classes() const { return classes_; }
  double count(int label, int named) const {
    return counts_[static_cast<std::size_t>(label) * classes_ + named];
  }
  std::span<double> counts() { return counts_; }  // to be summed over ranks
  double total() const;
  double top1() const;
  double top1_error() const;  // statistical
  double top5() const;

 private:
  int classes_;
  std::vector<double> counts_;
};

// Throws IoError when a label is not below `classes`.
void check_labels(const ImageSet& set, int classes);

// Share of each class that is named rightly, the worst first and at most 40 of them, as SVG; with
// the names of our shapes or numbers.
std::string class_plot(const Confusion& confusion, bool has_shape_names);

}  // namespace tutti::models::resnet
