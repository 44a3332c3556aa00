// Synthetic collisions in the shape of the HIGGS data set: 21 measured columns and 7 masses computed from them. The two
// classes differ in the masses of the decayed particles.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::bench {

struct Decays {
  static constexpr int kColumns = 28;
  std::int64_t rows = 0;
  std::vector<float> values;   // rows x 28, row-major
  std::vector<double> labels;  // 0 or 1, 53 % of them 1
};

// Row i depends only on the seed and on i.
Decays make_decays(std::int64_t rows, std::uint64_t seed);

}  // namespace tutti::bench
