// Made-up collisions with the shape of the HIGGS data: 21 measured columns and 7 masses computed
// from them; the two classes differ in the masses of what decayed.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::bench {

struct Decays {
  static constexpr int kColumns = 28;
  std::int64_t rows = 0;
  std::vector<float> values;   // rows x 28, row by row
  std::vector<double> labels;  // 0 or 1, 53 % of them 1
};

// Row i depends on the seed and on i only.
Decays make_decays(std::int64_t rows, std::uint64_t seed);

}  // namespace tutti::bench
