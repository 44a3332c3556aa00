#include "bench/glm/generate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "bench/glm/random.h"

namespace tutti::bench {
namespace {

using learn::DataSet;
using learn::Matrix;

constexpr std::int64_t kRowsAtOnce = 1024;

// Calls body(piece) for each piece, on all CPUs.
void for_pieces(std::int64_t pieces, const std::function<void(std::int64_t)>& body) {
  std::atomic<std::int64_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::int64_t piece; (piece = next++) < pieces;) body(piece);
    });
}

// Number of distinct values of each field of a click.
constexpr std::array<std::int64_t, 26> kFieldSizes = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};
constexpr int kCounts = 13;
constexpr int kFields = kCounts + static_cast<int>(kFieldSizes.size());

// A value of field `field`: mostly determined by one of three groups (user, page, advertisement), otherwise drawn
// independently.
std::int64_t field_value(int field, const std::array<std::uint64_t, 3>& groups, Random& random) {
  if (field < kCounts) {
    if (random.uniform() < 0.06 * field) return -1;  // missing
    const double spread = 1 + 1.5 * field / kCounts;
    const double count = std::exp(spread * random.normal() + 0.3 * field);
    const double log = std::log1p(std::floor(count));
    return static_cast<std::int64_t>(log * log);
  }
  const std::int64_t size = kFieldSizes[field - kCounts];
  const double exponent = 1.05 + 0.01 * (field - kCounts);
  if (random.uniform() < 0.6) {
    Random decided(groups[field % 3] * 31 + static_cast<std::uint64_t>(field));
    return decided.zipf(size, exponent);
  }
  return random.zipf(size, exponent);
}

// Rare values have smaller effects.
double effect_of(int field, std::int64_t value) {
  Random random(static_cast<std::uint64_t>(field) * 1000003 +
                static_cast<std::uint64_t>(value + 1));
  return random.normal() * 0.45 / (1 + 0.05 * std::log1p(static_cast<double>(value + 1)));
}

// Generates one row; returns its label.
double make_click(std::uint64_t seed, std::int64_t row, std::int64_t columns,
                  learn::SparseRowsBuilder& built) {
  Random random(split_mix(seed) + static_cast<std::uint64_t>(row));
  std::array<std::uint64_t, 3> groups;
  for (int g = 0; g < 3; ++g)
    groups[g] =
        static_cast<std::uint64_t>(random.zipf(200000, 1.1)) * 3 + static_cast<std::uint64_t>(g);
  std::set<std::int32_t> used;
  double logit = -1.9;
  for (int field = 0; field < kFields; ++field) {
    const std::int64_t value = field_value(field, groups, random);
    logit += 0.62 * effect_of(field, value);
    const std::uint64_t hash =
        split_mix(static_cast<std::uint64_t>(field) << 40 ^ static_cast<std::uint64_t>(value + 1));
    used.insert(static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(columns)));
  }
  for (int pair = 0; pair < 3; ++pair) {  // interactions, which no linear model finds
    Random both(groups[pair] * 977 + groups[(pair + 1) % 3]);
    logit += 0.35 * both.normal();
  }
  for (const std::int32_t column : used) built.add(column, 1);
  return random.uniform() < 1 / (1 + std::exp(-logit)) ? 1 : -1;
}

// Calls make_row(row, builder) for every row; it returns the label.
DataSet sparse_set(std::int64_t rows, std::int64_t columns,
                   const std::function<double(std::int64_t, learn::SparseRowsBuilder&)>& make_row) {
  std::vector<learn::SparseRowsBuilder> built((rows + kRowsAtOnce - 1) / kRowsAtOnce);
  DataSet data;
  data.labels.resize(rows);
  for_pieces(std::ssize(built), [&](std::int64_t piece) {
    const std::int64_t end = std::min(rows, (piece + 1) * kRowsAtOnce);
    for (std::int64_t row = piece * kRowsAtOnce; row < end; ++row) {
      data.labels[row] = make_row(row, built[piece]);
      built[piece].end_row();
    }
  });
  learn::SparseRowsBuilder all;
  for (const auto& piece : built) all.append(piece);
  data.features = std::move(all).build(columns);
  return data;
}

DataSet dense_set(std::int64_t rows, std::int64_t columns,
                  const std::function<double(std::int64_t, float*)>& make_row) {
  auto values = std::make_shared_for_overwrite<float[]>(static_cast<std::size_t>(rows * columns));
  DataSet data;
  data.labels.resize(rows);
  for_pieces((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t piece) {
    const std::int64_t end = std::min(rows, (piece + 1) * kRowsAtOnce);
    for (std::int64_t row = piece * kRowsAtOnce; row < end; ++row)
      data.labels[row] = make_row(row, values.get() + row * columns);
  });
  data.features =
      Matrix{.rows = rows, .columns = columns, .values = values.get(), .row_stride = columns};
  data.features.owner = values;
  return data;
}

}  // namespace

DataSet make_clicks(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return sparse_set(rows, columns, [&](std::int64_t row, learn::SparseRowsBuilder& built) {
    return make_click(seed, row, columns, built);
  });
}

DataSet make_collisions(std::int64_t rows, std::uint64_t seed) {
  return dense_set(rows, 28, [seed](std::int64_t row, float* x) {
    Random random(split_mix(seed) + static_cast<std::uint64_t>(row));
    const bool is_signal = random.uniform() < 0.53;
    std::array<double, 7> momentum;
    for (int i = 0; i < 7; ++i) {
      momentum[i] = std::exp(0.45 * random.normal() + (is_signal ? 0.04 * (i % 3) : 0));
      x[3 * i] = static_cast<float>(momentum[i]);
      x[3 * i + 1] = static_cast<float>(std::clamp(random.normal(), -2.5, 2.5));
      const double tag = random.uniform();
      x[3 * i + 2] = i < 4 && i % 2 == 0 ? (tag < 0.5   ? 0.f
                                            : tag < 0.8 ? 1.09f
                                                        : 2.17f)
                                         : static_cast<float>((2 * tag - 1) * std::numbers::pi);
    }
    for (int i = 0; i < 7; ++i) {
      const double resonance = is_signal ? 1.0 : 1 + 0.25 * random.normal();
      const double angle = std::cos(x[3 * i + 1] - x[3 * ((i + 1) % 7) + 1]);
      x[21 + i] = static_cast<float>(
          std::sqrt(momentum[i] * momentum[(i + 1) % 7] * (1.5 - angle)) * 0.6 + 0.4 * resonance);
    }
    return is_signal ? 1.0 : -1.0;
  });
}

DataSet make_factors(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  constexpr int kFactors = 300;
  std::vector<float> loadings(static_cast<std::size_t>(kFactors * columns));
  std::vector<double> teacher(columns);
  Random random(split_mix(seed) ^ 0x5eed);
  for (int k = 0; k < kFactors; ++k)
    for (std::int64_t j = 0; j < columns; ++j)
      loadings[k * columns + j] = static_cast<float>(random.normal() * std::pow(k + 1.0, -0.8));
  for (double& weight : teacher) weight = random.normal();
  return dense_set(rows, columns, [&](std::int64_t row, float* x) {
    Random own(split_mix(seed) + static_cast<std::uint64_t>(row));
    for (std::int64_t j = 0; j < columns; ++j) x[j] = static_cast<float>(0.4 * own.quick_normal());
    for (int k = 0; k < kFactors; ++k) {
      const float factor = static_cast<float>(own.normal());
      const float* loading = loadings.data() + k * columns;
      for (std::int64_t j = 0; j < columns; ++j) x[j] += factor * loading[j];
    }
    double square = 0, score = 0;
    for (std::int64_t j = 0; j < columns; ++j) square += static_cast<double>(x[j]) * x[j];
    const double scale = 1 / std::sqrt(square);
    for (std::int64_t j = 0; j < columns; ++j) {
      x[j] = static_cast<float>(x[j] * scale);
      score += teacher[j] * x[j];
    }
    const bool is_noise = own.uniform() < 0.1;
    return (score > 0) != is_noise ? 1.0 : -1.0;
  });
}

DataSet make_pages(std::int64_t rows, std::int64_t columns, std::int64_t mean_entries,
                   std::uint64_t seed) {
  return sparse_set(rows, columns, [&](std::int64_t row, learn::SparseRowsBuilder& built) {
    Random random(split_mix(seed) + static_cast<std::uint64_t>(row));
    const double length =
        static_cast<double>(mean_entries) * std::exp(0.8 * random.normal() - 0.32);
    const bool is_spam = random.uniform() < 0.61;
    std::vector<std::int32_t> drawn;
    for (int i = std::clamp(static_cast<int>(length), 20, 40000); i > 0; --i) {
      const std::int64_t rank = random.zipf(columns, 1.1);
      // Some columns occur only on one kind of page.
      const std::uint64_t kind = split_mix(static_cast<std::uint64_t>(rank) + 99) % 40;
      if (kind < 2 && (kind == 0) != is_spam && random.uniform() < 0.6) continue;
      drawn.push_back(static_cast<std::int32_t>(split_mix(static_cast<std::uint64_t>(rank)) %
                                                static_cast<std::uint64_t>(columns)));
    }
    std::sort(drawn.begin(), drawn.end());
    std::vector<std::pair<std::int32_t, int>> counts;
    for (const std::int32_t column : drawn) {
      if (counts.empty() || counts.back().first != column) counts.emplace_back(column, 0);
      ++counts.back().second;
    }
    double square = 0;
    for (const auto& [column, count] : counts) square += static_cast<double>(count) * count;
    for (const auto& [column, count] : counts)
      built.add(column, static_cast<float>(count / std::sqrt(square)));
    return is_spam ? 1.0 : -1.0;
  });
}

}  // namespace tutti::bench
