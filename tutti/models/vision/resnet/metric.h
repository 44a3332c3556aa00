// Accuracy of the network.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/vision/resnet/images.h"

namespace tutti::models::resnet {

// Counts of (true class, predicted class), and of images whose class was among the top five.
class Confusion {
 public:
  explicit Confusion(int classes)
      : classes_(classes), counts_(static_cast<std::size_t>(classes) * classes + 1) {}
  // `best`: the predicted classes, the most likely first.
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

// Throws IoError if a label is not below `classes`.
void check_labels(const ImageSet& set, int classes);

// Accuracy of each class, the lowest first and at most 40 of them, as SVG, with the names of the generated shapes or
// numbers.
std::string class_plot(const Confusion& confusion, bool has_shape_names);

}  // namespace tutti::models::resnet
