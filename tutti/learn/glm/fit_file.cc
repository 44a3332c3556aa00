#include "tutti/learn/glm/fit_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "tutti/core/error.h"
#include "tutti/learn/base/huge_pages.h"
#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/glm/fit.h"
#include "tutti/learn/glm/solvers/newton.h"
#include "tutti/learn/glm/solvers/solve.h"
#include "tutti/learn/glm/solvers/solve_multinomial.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kMinSampleRows = 16384;
constexpr std::int64_t kSampleRowsPerColumn = 10;
constexpr double kSampleTolerance = 1e-2;

// Numbers that a solver stores per row, including the label.
std::int64_t numbers_per_row(Solver solver, bool has_l1) {
  if (solver == Solver::kNewton) return has_l1 ? 4 : 1;
  return 7;
}

// Upper bound of the memory of a fit without the chunks; `models` is the number of classes fitted simultaneously.
std::int64_t other_bytes(const DataFile& file, Solver solver, bool has_weights, bool has_l1,
                         std::int64_t models = 1) {
  const DataSchema& schema = file.schema();
  const std::int64_t size = static_cast<std::int64_t>(size_of(schema.dtype));
  const std::int64_t columns = schema.columns + 64;  // including padding
  const std::int64_t tile = kBlockRows * size;
  const std::int64_t per_row =
      models * numbers_per_row(solver, has_l1) * size + (has_weights ? size : 0);
  std::int64_t others = file.rows() * per_row + (4 << 20);
  if (solver == Solver::kNewton) {
    const std::int64_t width = (schema.columns + kPadding) / kPadding * kPadding;
    return others + kMaxPartsOfStream * width * (width * 8 + 2 * tile) + width * width * 32;
  }
  others += models * columns * (8 * size + 24) + columns * kMaxPartsOfStream * (size + 8);
  // With l1, and in SDCA, there is no preconditioner block.
  if (solver == Solver::kSdca || has_l1) return others + columns * 4 * (size + 8);
  const std::int64_t block =
      std::min<std::int64_t>(columns, schema.storage == Storage::kDense ? 4352 : 1280);
  if (schema.storage == Storage::kDense)
    return others + block * block * (16 + 8 * models) + 8 * tile * block;
  return others + block * block * 8 * (kMaxPartsOfStream + 1 + models);
}

// Blocks of rows from all over a dense file.
struct Sample {
  HugePages values;  // unmapped on destruction, so it does not count towards a limit later
  std::vector<double> labels, weights;
  Matrix features;
};

Sample sample_of(const DataFile& file, std::span<const double> labels,
                 std::span<const double> weights, std::int64_t stride) {
  const std::int64_t row_bytes =
      file.schema().columns * static_cast<std::int64_t>(size_of(file.schema().dtype));
  // Calls body(first byte, rows, index of the first row in the file) for every block, and `done` after a chunk.
  const auto for_blocks = [&](const auto& body, const auto& done) {
    std::int64_t first = 0, block = 0;
    for (std::int64_t chunk = 0; chunk < file.chunks(); ++chunk) {
      const Matrix m = file.view(chunk, file.mapped(chunk));
      for (std::int64_t begin = 0; begin < m.rows; begin += kBlockRows)
        if (block++ % stride == 0)
          body(static_cast<const std::byte*>(m.values) + begin * row_bytes,
               std::min(kBlockRows, m.rows - begin), first + begin);
      done(chunk);
      first += m.rows;
    }
  };
  std::int64_t count = 0;
  for_blocks(
      [&](const std::byte* from, std::int64_t rows, std::int64_t) {
        file.prefetch(from, rows * row_bytes);
        count += rows;
      },
      [](std::int64_t) {});
  Sample sample{.values = HugePages(static_cast<std::size_t>(count * row_bytes)),
                .labels = {},
                .weights = {},
                .features = {}};
  std::byte* next = sample.values.data();
  for_blocks(
      [&](const std::byte* from, std::int64_t rows, std::int64_t first) {
        next = std::copy(from, from + rows * row_bytes, next);
        sample.labels.insert(sample.labels.end(), labels.begin() + first,
                             labels.begin() + first + rows);
        if (!weights.empty())
          sample.weights.insert(sample.weights.end(), weights.begin() + first,
                                weights.begin() + first + rows);
      },
      [&](std::int64_t chunk) { file.drop_pages(chunk); });
  sample.features = {.dtype = file.schema().dtype,
                     .rows = static_cast<std::int64_t>(sample.labels.size()),
                     .columns = file.schema().columns,
                     .values = sample.values.data(),
                     .row_stride = file.schema().columns};
  return sample;
}

std::int64_t reduced(std::int64_t value, comm::Communicator* ranks, ReduceOp op) {
  if (ranks != nullptr) ranks->all_reduce({&value, 1, DType::kI64}, op);
  return value;
}

// Warm start: fits a sample that fits into `bytes`, because passes over the file dominate the cost. Newton-CG uses the
// resident chunks instead. Sets `is_stopped` if the caller stopped the fit.
GlmOptions started(const DataFile& file, std::span<const double> labels,
                   std::span<const double> weights, GlmOptions options, Solver solver,
                   std::int64_t bytes, bool& is_stopped) {
  const DataSchema& schema = file.schema();
  if (!options.start_coefficients.empty() || schema.storage != Storage::kDense) return options;
  if (solver == Solver::kNewtonCg && options.l1 == 0) return options;
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, schema.columns) * static_cast<std::int64_t>(size_of(schema.dtype));
  const std::int64_t all = reduced(file.rows(), options.ranks, ReduceOp::kSum);
  const std::int64_t wanted =
      std::min(reduced(bytes / (2 * row_bytes), options.ranks, ReduceOp::kMin),
               std::max(kMinSampleRows, kSampleRowsPerColumn * schema.columns));
  const std::int64_t stride = all / std::max<std::int64_t>(1, wanted);
  if (stride < 4 || wanted < 4 * schema.columns) return options;
  const Sample sample = sample_of(file, labels, weights, stride);
  GlmOptions asked = options;
  const double fraction =
      static_cast<double>(reduced(sample.features.rows, options.ranks, ReduceOp::kSum)) /
      static_cast<double>(all);
  asked.l1 *= fraction;
  asked.l2 *= fraction;
  asked.tolerance = kSampleTolerance;
  asked.max_iterations = std::min(50, options.max_iterations);
  asked.on_progress = [&](const Progress& progress) {
    is_stopped = options.on_progress && !options.on_progress(progress);
    return !is_stopped;
  };
  const GlmModel found = fit(sample.features, sample.labels, sample.weights, asked);
  options.start_coefficients = found.coefficients;
  options.start_intercept = found.intercept;
  return options;
}

// Opens a stream on every rank, or throws on all ranks: a rank with too little memory reports the reason, the others
// that another rank failed.
std::unique_ptr<RowStream> open_stream(const std::shared_ptr<const DataFile>& file,
                                       std::int64_t bytes, comm::Communicator* ranks) {
  std::unique_ptr<RowStream> stream;
  std::exception_ptr error;
  try {
    stream = std::make_unique<RowStream>(file, bytes);
  } catch (const Error&) {
    error = std::current_exception();
  }
  const bool are_all = reduced(error ? 0 : 1, ranks, ReduceOp::kMin) == 1;
  if (error) std::rethrow_exception(error);
  if (!are_all)
    throw ConfigError("DDL-9-12", "The memory limit of another rank is too small for its chunks.");
  return stream;
}

void note(const RowStream& stream, StreamStats* use) {
  if (use == nullptr) return;
  use->residents = stream.residents();
  use->bytes_read = stream.bytes_read();
  use->engine = stream.engine();
}

// Returns whether the whole file, a second copy and the buffers for reading fit into memory, on all ranks.
bool fits(const DataFile& file, std::int64_t others, std::int64_t memory_limit,
          comm::Communicator* ranks, StreamStats* use) {
  std::int64_t all = 0;
  for (std::int64_t chunk = 0; chunk < file.chunks(); ++chunk) all += file.bytes_of(chunk);
  if (use != nullptr)
    *use = {.chunks = file.chunks(), .residents = file.chunks(), .bytes_read = all, .engine = ""};
  const bool does = memory_limit <= 0 || 3 * all + others <= memory_limit;
  return reduced(does ? 1 : 0, ranks, ReduceOp::kMin) == 1;
}

// The result of a fit that was stopped before its solver has started.
GlmModel unfitted(const DataSchema& schema, const GlmOptions& options, Solver solver) {
  GlmModel model;
  model.coefficients = options.start_coefficients;
  model.intercept = options.start_intercept;
  model.solver = solver;
  model.coefficients.resize(schema.columns);
  return model;
}

MultinomialModel unfitted(const DataSchema& schema, int count) {
  MultinomialModel model;
  model.coefficients.resize(count * schema.columns);
  model.intercepts.resize(count);
  return model;
}

void watch(RowStream& stream, const GlmOptions& options) {
  if (!options.should_stop || options.ranks != nullptr) return;
  stream.set_on_chunk([&options] {
    if (options.should_stop()) throw Stopped();
  });
}

template <class T>
GlmModel fit_stream(RowStream& stream, std::span<const double> labels,
                    std::span<const double> weights, const GlmOptions& options, Solver solver) {
  Threads threads(options.threads);
  const auto design = DesignMatrix<T>::create(stream, threads, options.ranks);
  return solve<T>(*design, nullptr, labels, weights, options, solver);
}

template <class T>
MultinomialModel fit_stream(RowStream& stream, std::span<const std::int32_t> classes, int count,
                            std::span<const double> weights, const GlmOptions& options) {
  Threads threads(options.threads);
  const auto design = DesignMatrix<T>::create(stream, threads, options.ranks);
  return solve_multinomial<T>(*design, classes, count, weights, options);
}

}  // namespace

GlmModel fit_file(const std::shared_ptr<const DataFile>& file, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options,
                  std::int64_t memory_limit, StreamStats* use) {
  const DataSchema& schema = file->schema();
  const bool is_sparse = schema.storage != Storage::kDense;
  const Shape shape{
      .rows = file->rows(), .columns = schema.columns, .is_sparse = is_sparse, .is_streamed = true};
  check_options(shape, labels, weights, options);
  auto [solver, why] = choose_solver(shape.over(options.ranks), options);
  if (is_sparse && solver == Solver::kNewton) solver = Solver::kNewtonCg;
  const std::int64_t held = static_cast<std::int64_t>(labels.size() + weights.size()) * 8;
  const std::int64_t others = other_bytes(*file, solver, !weights.empty(), options.l1 > 0) + held;
  if (fits(*file, others, memory_limit, options.ranks, use)) {
    const DataSet data = file->read(0, file->chunks());
    return fit(data.features, labels, weights, options);
  }
  check_solver(shape, options, solver);
  if (solver == Solver::kWorkingSet || solver == Solver::kInteriorPoint)
    throw ConfigError(
        "DDL-9-12", fmt::format("Solver {} needs all rows in memory. Use auto.", name_of(solver)));
  const std::int64_t bytes = memory_limit - others;
  bool is_stopped = false;
  const GlmOptions asked = started(*file, labels, weights, options, solver, bytes / 2, is_stopped);
  if (is_stopped && options.ranks == nullptr) return unfitted(schema, asked, solver);
  const auto stream = open_stream(file, bytes, options.ranks);
  watch(*stream, options);
  GlmModel model = unfitted(schema, asked, solver);
  try {
    model = schema.dtype == DType::kF32
                ? fit_stream<float>(*stream, labels, weights, asked, solver)
                : fit_stream<double>(*stream, labels, weights, asked, solver);
  } catch (const Stopped&) {
  }
  note(*stream, use);
  model.why = why;
  return model;
}

MultinomialModel fit_multinomial_file(const std::shared_ptr<const DataFile>& file,
                                      std::span<const std::int32_t> classes, int count,
                                      std::span<const double> weights, const GlmOptions& options,
                                      std::int64_t memory_limit, StreamStats* use) {
  const Shape shape{.rows = file->rows(), .columns = file->schema().columns};
  check_multinomial(shape, classes, count, weights, options);
  shape.over(options.ranks);
  const std::int64_t held = static_cast<std::int64_t>(classes.size() * 4 + weights.size() * 8);
  const std::int64_t others =
      other_bytes(*file, Solver::kNewtonCg, !weights.empty(), options.l1 > 0, count) + held;
  if (fits(*file, others, memory_limit, options.ranks, use)) {
    const DataSet data = file->read(0, file->chunks());
    return fit_multinomial(data.features, classes, count, weights, options);
  }
  const auto stream = open_stream(file, memory_limit - others, options.ranks);
  watch(*stream, options);
  MultinomialModel model = unfitted(file->schema(), count);
  try {
    model = file->schema().dtype == DType::kF32
                ? fit_stream<float>(*stream, classes, count, weights, options)
                : fit_stream<double>(*stream, classes, count, weights, options);
  } catch (const Stopped&) {
  }
  note(*stream, use);
  return model;
}

}  // namespace tutti::learn
