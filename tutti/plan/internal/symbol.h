// The elements of the verifier: what a value is made of.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::plan::internal {

struct Symbol {
  std::uint64_t sum = 0xdead'beef'dead'beef;  // of the hashes of what was folded
  int terms = -1'000'000;                     // how many; memory nobody wrote has none
  int first = -1, last = -1;                  // ranks, when folded in their order
  int folds = 0;                              // one after the other
  int completed = 0;                          // folds marked as the final one
  bool in_order = false;                      // ((first op first+1) op ...) op last

  static Symbol of(int rank, std::int64_t element);
  bool operator==(const Symbol&) const = default;
};

// All at once, in the order given.
Symbol fold(std::span<const Symbol> values, bool completes);

}  // namespace tutti::plan::internal
