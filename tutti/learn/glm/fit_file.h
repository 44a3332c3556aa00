// Fits on files that are larger than memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tutti/learn/data/data_file.h"
#include "tutti/learn/glm/options.h"

namespace tutti::learn {

struct StreamUse {
  std::int64_t chunks = 0, residents = 0;  // of the file; of them always in memory
  std::int64_t bytes_read = 0;             // from the disk, in all passes
  std::string engine;                      // io_uring or threads; empty: all was in memory
};

// `fit` on the rows of a file, with at most `memory_limit` bytes on top of what the process had:
// rows in chunks, what is kept per row, labels, and what the solver needs. Reads ahead while it
// computes. A file that fits is fitted in memory. The optimum is that of `fit`; sums are made in
// another order. Losses that are not smooth, and l1 with more columns than solver newton takes,
// need all rows in memory: ConfigError, as when the limit is too small for the chunks of the file.
// No ranks.
GlmModel fit_file(const std::shared_ptr<const DataFile>& file, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options,
                  std::int64_t memory_limit, StreamUse* use = nullptr);

}  // namespace tutti::learn
