// Data sets made from nothing but a seed, shaped like the known ones. The same rows for any number
// of threads: each row has a random stream of its own.
#pragma once

#include <cstdint>

#include "tutti/learn/data/data_set.h"

namespace tutti::bench {

// 13 counts and 26 fields of codes, each row hashed to 39 or (where two meet) fewer columns that
// are 1; values by Zipf's law, tied together by three hidden groups; about one label in four is 1.
learn::DataSet make_clicks(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// 28 columns like those of the HIGGS set: momenta, angles, tags with three values, masses made
// of them; labels by a noisy rule that is only partly linear.
learn::DataSet make_collisions(std::int64_t rows, std::uint64_t seed);

// Dense rows of length 1 from a few hundred factors whose strength falls off: badly conditioned.
learn::DataSet make_factors(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// Sparse rows of very different length, columns by Zipf's law, rows of length 1, few columns
// matter.
learn::DataSet make_pages(std::int64_t rows, std::int64_t columns, std::int64_t mean_entries,
                          std::uint64_t seed);

}  // namespace tutti::bench
