// Out-of-core training of linear models: fits on data files larger than memory.
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
  std::int64_t chunks = 0, residents = 0;  // chunks of the file; number of resident chunks
  std::int64_t bytes_read = 0;             // from disk, in all passes
  std::string engine;                      // io_uring or threads; empty: fitted in memory
};

// `fit` on the rows of a file, with at most `memory_limit` bytes of additional memory for chunks, per-row values,
// labels and solver state. Reads ahead while it computes. A file that fits into the limit is fitted in memory. The
// optimum is that of `fit`, but sums have another order. With ranks, each rank opens its part of the chunks and has a
// separate limit. Throws ConfigError if the limit is too small for the chunks of the file, or for solver working_set,
// which needs all columns in memory.
GlmModel fit_file(const std::shared_ptr<const DataFile>& file, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options,
                  std::int64_t memory_limit, StreamStats* use = nullptr);

// `fit_multinomial` in the same way. Each pass reads the file once per class.
MultinomialModel fit_multinomial_file(const std::shared_ptr<const DataFile>& file,
                                      std::span<const std::int32_t> classes, int count,
                                      std::span<const double> weights, const GlmOptions& options,
                                      std::int64_t memory_limit, StreamStats* use = nullptr);

}  // namespace tutti::learn
