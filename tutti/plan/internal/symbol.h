// Symbolic values of the verifier. A symbol records which inputs contributed to a value and in which order.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::plan::internal {

struct Symbol {
  std::uint64_t sum = 0xdead'beef'dead'beef;  // sum of the hashes of all terms
  int terms = -1'000'000;                     // number of terms; negative for uninitialised memory
  int first = -1, last = -1;                  // first and last rank, if the terms are in rank order
  int reductions = 0;                         // reductions on the longest dependency chain
  int completed = 0;                          // number of reductions marked as final
  bool in_order = false;                      // ((first op first+1) op ...) op last

  static Symbol of(int rank, std::int64_t element);
  bool operator==(const Symbol&) const = default;
};

// Reduces all values at once, in the given order.
Symbol fold(std::span<const Symbol> values, bool completes);

}  // namespace tutti::plan::internal
