// Fits on files that are larger than memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tutti/learn/data/data_file.h"
#include "tutti/learn/glm/multinomial.h"
#include "tutti/learn/glm/problem/options.h"

namespace tutti::learn {

struct StreamStats {
  std::int64_t chunks = 0, residents = 0;  // of the file; of them always in memory
  std::int64_t bytes_read = 0;             // from the disk, in all passes
  std::string engine;                      // io_uring or threads; empty: all was in memory
};

// `fit` on the rows of a file, with at most `memory_limit` bytes on top of what the process had:
// rows in chunks, what is kept per row, labels, and what the solver needs. Reads ahead while it
// computes. A file that fits is fitted in memory. The optimum is that of `fit`; sums are made in
// another order. Over ranks each has the file with its share of the chunks, and a limit of its own.
// Throws ConfigError when the limit is too small for the chunks of the file, or for solver
// working_set, which needs columns.
GlmModel fit_file(const std::shared_ptr<const DataFile>& file, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options,
                  std::int64_t memory_limit, StreamStats* use = nullptr);

// `fit_multinomial` in the same way. Each class reads the file once where other models do so once.
MultinomialModel fit_multinomial_file(const std::shared_ptr<const DataFile>& file,
                                      std::span<const std::int32_t> classes, int count,
                                      std::span<const double> weights, const GlmOptions& options,
                                      std::int64_t memory_limit, StreamStats* use = nullptr);

}  // namespace tutti::learn
