#include "tutti/learn/glm/fit_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tutti/core/error.h"
#include "tutti/learn/glm/fit.h"
#include "tutti/learn/glm/internal/newton.h"
#include "tutti/learn/glm/internal/solve.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kFewestSampleRows = 16384;
constexpr std::int64_t kSampleRowsPerColumn = 10;
constexpr double kSampleTolerance = 1e-2;

// What a fit needs beside the chunks, from above.
std::int64_t other_bytes(const DataFile& file, Solver solver, bool has_weights, bool has_l1) {
  const DataSchema& schema = file.schema();
  const std::int64_t size = static_cast<std::int64_t>(size_of(schema.dtype));
  const std::int64_t columns = schema.columns + 64;  // with padding
  const std::int64_t tile = kBlockRows * size;
  const std::int64_t per_row = (solver != Solver::kNewton ? 7
                                : has_l1                  ? 4
                                                          : 2) *
                                   size +
                               (has_weights ? size : 0);
  std::int64_t others = file.rows() * per_row + (4 << 20);
  if (solver == Solver::kNewton)
    return others + kMostPartsOfStream * columns * (columns * 8 + tile) + columns * columns * 32;
  const std::int64_t block =
      std::min<std::int64_t>(columns, schema.form == Form::kDense ? 4352 : 1280);
  others += columns * (8 * size + 24 + kMostPartsOfStream * (size + 8));
  if (schema.form == Form::kDense) return others + block * block * 24 + 8 * tile * block;
  return others + block * block * 8 * (kMostPartsOfStream + 2);
}

// Blocks of rows from all over a dense file.
struct Sample {
  std::vector<std::byte> values;
  std::vector<double> labels, weights;
  Matrix features;
};

Sample sample_of(const DataFile& file, std::span<const double> labels,
                 std::span<const double> weights, std::int64_t stride) {
  Sample sample;
  const std::int64_t row_bytes =
      file.schema().columns * static_cast<std::int64_t>(size_of(file.schema().dtype));
  std::int64_t first = 0, block = 0;
  for (std::int64_t chunk = 0; chunk < file.chunks(); ++chunk) {
    const Matrix m = file.view(chunk, file.mapped(chunk));
    for (std::int64_t begin = 0; begin < m.rows; begin += kBlockRows) {
      if (block++ % stride != 0) continue;
      const std::int64_t end = std::min(m.rows, begin + kBlockRows);
      const auto* from = static_cast<const std::byte*>(m.values);
      sample.values.insert(sample.values.end(), from + begin * row_bytes, from + end * row_bytes);
      sample.labels.insert(sample.labels.end(), labels.begin() + first + begin,
                           labels.begin() + first + end);
      if (!weights.empty())
        sample.weights.insert(sample.weights.end(), weights.begin() + first + begin,
                              weights.begin() + first + end);
    }
    file.forget(chunk);
    first += m.rows;
  }
  sample.features = {.dtype = file.schema().dtype,
                     .rows = static_cast<std::int64_t>(sample.labels.size()),
                     .columns = file.schema().columns,
                     .values = sample.values.data(),
                     .row_stride = file.schema().columns};
  return sample;
}

// First steps on a sample that fits into `bytes`: passes over the file are what costs.
GlmOptions started(const DataFile& file, std::span<const double> labels,
                   std::span<const double> weights, GlmOptions options, std::int64_t bytes) {
  const DataSchema& schema = file.schema();
  if (!options.start_coefficients.empty() || schema.form != Form::kDense) return options;
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, schema.columns) * static_cast<std::int64_t>(size_of(schema.dtype));
  const std::int64_t wanted = std::min(
      bytes / (2 * row_bytes), std::max(kFewestSampleRows, kSampleRowsPerColumn * schema.columns));
  const std::int64_t stride = file.rows() / std::max<std::int64_t>(1, wanted);
  if (stride < 4 || wanted < 4 * schema.columns) return options;
  const Sample sample = sample_of(file, labels, weights, stride);
  GlmOptions asked = options;
  const double share = static_cast<double>(sample.features.rows) / static_cast<double>(file.rows());
  asked.l1 *= share;
  asked.l2 *= share;
  asked.tolerance = kSampleTolerance;
  asked.max_iterations = std::min(50, options.max_iterations);
  const GlmModel found = fit(sample.features, sample.labels, sample.weights, asked);
  options.start_coefficients = found.coefficients;
  options.start_intercept = found.intercept;
  return options;
}

void check_can_stream(const Shape& shape, Solver solver, const GlmOptions& options) {
  if (options.ranks != nullptr)
    throw ConfigError("DDL-9-12", "A memory limit works in one process, not over ranks.");
  const bool can = solver == Solver::kNewtonCg || solver == Solver::kNewton;
  if (!can)
    throw ConfigError(
        "DDL-9-12",
        fmt::format(
            "Solver {} needs all rows in memory. With a memory limit there are smooth losses "
            "(not hinge), and l1 for at most {} columns; there are {}.",
            name_of(solver), kMostColumnsForNewton, shape.columns));
}

template <class T>
GlmModel fit_stream(RowStream& stream, std::span<const double> labels,
                    std::span<const double> weights, const GlmOptions& options, Solver solver) {
  Threads threads(options.threads);
  const auto design = Design<T>::create(stream, threads);
  return solve<T>(*design, nullptr, labels, weights, options, solver);
}

}  // namespace

GlmModel fit_file(const std::shared_ptr<const DataFile>& file, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options,
                  std::int64_t memory_limit, StreamUse* use) {
  const DataSchema& schema = file->schema();
  const bool is_sparse = schema.form != Form::kDense;
  const Shape shape{file->rows(), schema.columns, is_sparse};
  check_options(shape, labels, weights, options);
  Solver solver = choose_solver(shape, options);
  std::int64_t all = 0;
  for (std::int64_t chunk = 0; chunk < file->chunks(); ++chunk) all += file->bytes_of(chunk);
  // Of a sparse matrix there is a second copy with renamed columns.
  const std::int64_t held = static_cast<std::int64_t>(labels.size() + weights.size()) * 8;
  const std::int64_t others = other_bytes(*file, solver, !weights.empty(), options.l1 > 0) + held;
  if (use != nullptr)
    *use = {.chunks = file->chunks(), .residents = file->chunks(), .bytes_read = all, .engine = ""};
  if (memory_limit <= 0 || 3 * all + others <= memory_limit) {
    const DataSet data = file->read(0, file->chunks());
    return fit(data.features, labels, weights, options);
  }
  if (is_sparse && solver == Solver::kNewton) solver = Solver::kNewtonCg;
  check_solver(shape, options, solver);
  check_can_stream(shape, solver, options);
  const std::int64_t bytes = memory_limit - others;
  const GlmOptions asked = started(*file, labels, weights, options, bytes / 2);
  RowStream stream(file, bytes);
  const GlmModel model = schema.dtype == DType::kF32
                             ? fit_stream<float>(stream, labels, weights, asked, solver)
                             : fit_stream<double>(stream, labels, weights, asked, solver);
  if (use != nullptr) {
    use->residents = stream.residents();
    use->bytes_read = stream.bytes_read();
    use->engine = stream.engine();
  }
  return model;
}

}  // namespace tutti::learn
