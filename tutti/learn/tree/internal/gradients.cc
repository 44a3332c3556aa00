#include "tutti/learn/tree/internal/gradients.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "tutti/learn/base/hash.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn::tree {
namespace {

constexpr std::int64_t kChunk = 4096;
constexpr double kWideSteps = 0x1p30;
// With fewer rows quantisation saves no time, and its error would be noticeable.
constexpr std::int64_t kFewRows = 10'000;

using Chunk = std::array<GradientPair, kChunk>;

void compute(const GradientTask& task, std::int64_t begin, std::int64_t end, Chunk& chunk) {
  task.objective.gradients(task.targets.labels, task.targets.weights, task.scores, task.output,
                           begin, end, chunk.data());
}

// Histogram of the binary exponents of the gradients, 0 for zeros; maximum exponent of the hessians.
struct Magnitudes {
  std::array<std::int64_t, 256> gradients = {};
  std::int64_t hessian = 0;
};

int exponent_of(float value) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(value) >> 23 & 0xff);
}

Magnitudes measure(const GradientTask& task, Threads& threads, comm::Communicator* communicator) {
  const auto rows = static_cast<std::int64_t>(task.targets.labels.size());
  std::vector<Magnitudes> parts(static_cast<std::size_t>((rows + kChunk - 1) / kChunk));
  threads.for_range(rows, kChunk, [&](std::int64_t begin, std::int64_t end) {
    Chunk chunk;
    compute(task, begin, end, chunk);
    Magnitudes& part = parts[begin / kChunk];
    for (std::int64_t i = 0; i < end - begin; ++i) {
      const GradientPair pair = chunk[i];
      ++part.gradients[exponent_of(pair.gradient)];
      part.hessian = std::max<std::int64_t>(part.hessian, exponent_of(pair.hessian));
    }
  });
  Magnitudes all;
  for (const Magnitudes& part : parts) {
    for (std::size_t i = 0; i < 256; ++i) all.gradients[i] += part.gradients[i];
    all.hessian = std::max(all.hessian, part.hessian);
  }
  if (communicator != nullptr) {
    communicator->all_reduce(Buffer::of<std::int64_t>(all.gradients));
    communicator->all_reduce(Buffer::of<std::int64_t>({&all.hessian, 1}), ReduceOp::kMax);
  }
  return all;
}

// Smallest power of two above all numbers of this exponent.
double bound_of(std::int64_t exponent) {
  return std::ldexp(1.0, static_cast<int>(exponent) - 126);
}

// Returns whether at least 1 % of the gradients exceed 1/64 of the largest one.
bool are_even(const Magnitudes& magnitudes, int greatest) {
  const auto& counts = magnitudes.gradients;
  const std::int64_t all = std::accumulate(counts.begin() + 1, counts.end(), std::int64_t{0});
  const std::int64_t large =
      std::accumulate(counts.begin() + std::max(1, greatest - 6), counts.end(), std::int64_t{0});
  return 100 * large >= all;
}

std::uint32_t random_of(std::uint64_t seed, std::uint64_t row) {
  auto x = static_cast<std::uint32_t>(row) * 0x9e3779b9u + static_cast<std::uint32_t>(seed) +
           static_cast<std::uint32_t>(row >> 32);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

NarrowRecord make(std::uint32_t row, float gradient, float hessian, std::uint32_t random,
                  const NarrowRecord*) {
  const float low = static_cast<float>(random & 0xffff) * 0x1p-16F;
  const float high = static_cast<float>(random >> 16) * 0x1p-16F;
  return {row, static_cast<std::int16_t>(std::floor(gradient + low)),
          static_cast<std::uint16_t>(hessian + high)};
}

WideRecord make(std::uint32_t row, float gradient, float hessian, std::uint32_t,
                const WideRecord*) {
  return {row, static_cast<std::uint32_t>(std::lround(hessian)), std::lround(gradient)};
}

}  // namespace

GradientScales find_units(const GradientTask& task, Threads& threads,
                          comm::Communicator* communicator) {
  const GradientPair bounds = task.objective.bounds();
  double gradient = static_cast<double>(bounds.gradient) * task.max_weight;
  double hessian = static_cast<double>(bounds.hessian) * task.max_weight;
  bool is_even = true;
  if (gradient == 0) {
    const Magnitudes magnitudes = measure(task, threads, communicator);
    int greatest = 255;
    while (greatest > 0 && magnitudes.gradients[greatest] == 0) --greatest;
    gradient = bound_of(greatest);
    hessian = bound_of(magnitudes.hessian);
    is_even = are_even(magnitudes, greatest);
  }
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, task.rank_rows.total));
  // Rounding up must not exceed the 16 bits of a record, nor the 32 bits of a sum.
  const double gradient_steps = std::min(32766.0, std::floor(0x1p31 / rows) - 1);
  const double hessian_steps = std::min(65534.0, std::floor(0x1p32 / rows) - 1);
  const bool is_constant = task.objective.has_constant_hessian() && task.has_integer_weights;
  const bool fits = gradient_steps >= 64 && hessian_steps >= (is_constant ? task.max_weight : 64);
  GradientScales scales;
  scales.is_narrow = fits && is_even && !task.is_exact && task.rank_rows.total > kFewRows;
  scales.units.gradient = gradient / (scales.is_narrow ? gradient_steps : kWideSteps);
  scales.units.hessian =
      is_constant ? 1 : hessian / (scales.is_narrow ? hessian_steps : kWideSteps);
  return scales;
}

template <class Record>
std::int64_t make_records(const GradientTask& task, const GradientScales& scales,
                          std::int64_t begin, std::int64_t end, Record* target) {
  const auto factor_g = static_cast<float>(1 / scales.units.gradient);
  const auto factor_h = static_cast<float>(1 / scales.units.hessian);
  const bool takes_all = task.subsample >= 1 && task.targets.weights.empty();
  const std::uint64_t limit =
      task.subsample >= 1 ? ~0ull : static_cast<std::uint64_t>(task.subsample * 0x1p64);
  Record* const first = target;
  for (; begin < end; begin += kChunk) {
    Chunk chunk;
    const std::int64_t chunk_end = std::min(end, begin + kChunk);
    compute(task, begin, chunk_end, chunk);
    for (std::int64_t row = begin; row < chunk_end; ++row) {
      const auto global = static_cast<std::uint64_t>(task.rank_rows.first + row);
      const GradientPair pair = chunk[row - begin];
      *target =
          make(static_cast<std::uint32_t>(row), pair.gradient * factor_g, pair.hessian * factor_h,
               random_of(task.seed, global), static_cast<const Record*>(nullptr));
      const bool is_taken =
          takes_all || ((task.targets.weights.empty() || task.targets.weights[row] > 0) &&
                        (task.subsample >= 1 || mix(task.seed, global) < limit));
      target += is_taken ? 1 : 0;
    }
  }
  return target - first;
}
template std::int64_t make_records(const GradientTask&, const GradientScales&, std::int64_t,
                                   std::int64_t, NarrowRecord*);
template std::int64_t make_records(const GradientTask&, const GradientScales&, std::int64_t,
                                   std::int64_t, WideRecord*);

}  // namespace tutti::learn::tree
