// Synthetic data sets, generated from a seed, that resemble well-known ones. Each row has a separate random stream, so
// the rows do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "tutti/learn/data/data_set.h"

namespace tutti::bench {

// 13 counts and 26 categorical fields, each row hashed to at most 39 columns of value 1. Values follow Zipf's law and
// are correlated through three hidden groups; about a quarter of the labels are 1.
learn::DataSet make_clicks(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// 28 columns like those of the HIGGS data set: momenta, angles, tags with three values, and masses derived from them.
// Labels follow a noisy rule that is only partly linear.
learn::DataSet make_collisions(std::int64_t rows, std::uint64_t seed);

// Dense rows of unit norm from a few hundred factors of decreasing strength: badly conditioned.
learn::DataSet make_factors(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// Sparse rows of very different lengths and unit norm; columns follow Zipf's law, and few of them matter.
learn::DataSet make_pages(std::int64_t rows, std::int64_t columns, std::int64_t mean_entries,
                          std::uint64_t seed);

}  // namespace tutti::bench
