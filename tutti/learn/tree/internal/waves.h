// Ridge regression on random waves, as a learner beside trees in boosting.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins.h"
#include "tutti/learn/tree/internal/gradients.h"
#include "tutti/learn/tree/model.h"

namespace tutti::learn::tree {

// Values of one wave learner's features for a row.
class WaveFeatures {
 public:
  WaveFeatures(std::span<const WaveColumn> columns, const Waves& waves);

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
  std::vector<WaveColumn> columns_;
  std::vector<double> directions_, phases_;
};

struct WaveOptions {
  int components = 10;
  double gamma = 1;  // width of the kernel: exp(-gamma / columns * |difference in spreads|^2)
  double l2 = 1;
  bool has_constant = false;
};

// Where the middle of each column is, and how fast waves change along it; from the bins, so the
// same on all ranks. Columns of categories have no waves.
std::vector<WaveColumn> find_wave_columns(const Bins& bins, double gamma);

// Fits waves to the gradients: the Newton step of ridge regression, times `learning_rate`. Sums are
// of whole numbers: the same for any number of threads and ranks. `matrix` is dense or kSparseRows.
Waves fit_waves(const Matrix& matrix, std::span<const WaveColumn> columns, const GradientTask& task,
                const WaveOptions& options, double learning_rate, Threads& threads,
                comm::Communicator* communicator);

// Adds what the waves say of each row to scores[row * outputs + waves.output].
void add_waves(const Matrix& matrix, std::span<const WaveColumn> columns, const Waves& waves,
               std::span<double> scores, int outputs, Threads& threads);

}  // namespace tutti::learn::tree
