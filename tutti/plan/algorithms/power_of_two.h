// What the algorithms by halving and doubling do when the ranks are no power of two.
#pragma once

#include <bit>

#include "tutti/plan/builder.h"

namespace tutti::plan {

// Of n ranks, p are *active*, the largest power of two; the first 2(n-p) ranks form pairs, whose
// even one is active and works for both.
struct Actives {
  int count;  // p
  int pairs;  // n-p

  explicit Actives(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        pairs(ranks - count) {}
  bool is_paired(int index) const { return index < 2 * pairs; }
  bool is_active(int index) const { return !is_paired(index) || index % 2 == 0; }
  // The active's number, and back: the first index it works for (`count` gives the end).
  int number_of(int index) const { return is_paired(index) ? index / 2 : index - pairs; }
  int index_of(int number) const { return number < pairs ? 2 * number : number + pairs; }
};

}  // namespace tutti::plan
