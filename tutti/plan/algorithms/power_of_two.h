// Pairing of ranks for halving and doubling algorithms when the number of ranks is not a power of two.
#pragma once

#include <bit>

#include "tutti/plan/builder.h"

namespace tutti::plan {

// Of n ranks, p are *active*, where p is the largest power of two not above n. The first 2(n-p) ranks form pairs; the
// even rank of a pair is active and also represents the odd one.
struct PowerOfTwoRanks {
  int count;  // p
  int pairs;  // n-p

  explicit PowerOfTwoRanks(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        pairs(ranks - count) {}
  bool is_paired(int index) const { return index < 2 * pairs; }
  bool is_active(int index) const { return !is_paired(index) || index % 2 == 0; }
  // number_of: number of the active rank at `index`. index_of: the inverse, the first index that the active rank
  // represents; index_of(count) is the end.
  int number_of(int index) const { return is_paired(index) ? index / 2 : index - pairs; }
  int index_of(int number) const { return number < pairs ? 2 * number : number + pairs; }
};

}  // namespace tutti::plan
