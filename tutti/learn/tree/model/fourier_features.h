// Evaluation of random Fourier features (Rahimi and Recht), the other base learner of heterogeneous boosting.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Features of one learner for a row.
class FourierFeatures {
 public:
  FourierFeatures(std::span<const FourierColumn> columns, const FourierLearner& learner);

  std::size_t size() const { return phases_.size(); }
  template <class T>
  double value(const T* row, std::size_t k) const {
    const double* direction = directions_.data() + k * columns_.size();
    double angle = phases_[k];
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const double from_centre = static_cast<double>(row[c]) - columns_[c].centre;
      if (!std::isnan(from_centre)) angle += direction[c] * from_centre;
    }
    return std::cos(angle);
  }

 private:
  std::vector<FourierColumn> columns_;
  std::vector<double> directions_, phases_;
};

}  // namespace tutti::learn::tree
