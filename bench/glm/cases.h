// Problems of `tutti bench glm`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/learn/data/data_set.h"

namespace tutti::bench {

struct GlmCase {
  std::string_view name;
  std::string_view what;
  std::int64_t rows;  // at scale 1
  learn::DataSet (*make)(std::int64_t rows);
  std::string_view penalty;
  bool has_intercept;
};

// One row per problem. To add one, add it here and its baselines in worker_glm.py.
const std::vector<GlmCase>& glm_cases();

// Writes the input of the worker: `labels` (f64) and either `values` (f32, row-major) or `offsets` (i64), `indices`
// (i32) and optionally `values` (f32); last `shape` (text: rows columns entries). Throws IoError (DDL-8-70).
void write_arrays(const learn::DataSet& data, const std::filesystem::path& folder);

}  // namespace tutti::bench
