#include "tutti/comm/compression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tutti/core/dtype.h"
#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_values(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// The wire is misaligned by one byte.
std::vector<std::byte> encoded(const Codec& codec, std::span<const float> values,
                               std::span<float> residual = {}) {
  const std::size_t bytes = codec.encoded_bytes(static_cast<std::int64_t>(values.size()));
  std::vector<std::byte> wire(bytes + 2, std::byte{0x5a});
  codec.encode(values, residual, wire.data() + 1);
  EXPECT_EQ(wire.back(), std::byte{0x5a}) << "past the end";
  return wire;
}

std::vector<float> through(const Codec& codec, std::span<const float> values,
                           std::span<float> residual = {}) {
  std::vector<float> result(values.size(), 7);
  codec.decode(encoded(codec, values, residual).data() + 1, result);
  return result;
}

class EveryCodec : public ::testing::TestWithParam<const char*> {
 protected:
  const Codec codec_ = Codec::parse(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Codecs, EveryCodec,
                         ::testing::Values("none", "bf16", "f16", "int8", "topk:0.1"));

TEST_P(EveryCodec, HasItsName) {
  EXPECT_EQ(codec_.text(), GetParam());
}

TEST_P(EveryCodec, NeedsFewerBytesAndNoneForNothing) {
  EXPECT_EQ(codec_.encoded_bytes(0), 0);
  EXPECT_LE(codec_.encoded_bytes(10000), codec_.kind() == Compression::kNone ? 40000 : 20000);
  EXPECT_TRUE(through(codec_, {}).empty());
}

TEST_P(EveryCodec, AccumulateAddsTheDecodedValues) {
  for (const std::size_t count : {1, 5, 255, 256, 257, 5000}) {
    const auto values = random_values(count);
    const auto wire = encoded(codec_, values);
    std::vector<float> decoded(count), sum(count, 1);
    codec_.decode(wire.data() + 1, decoded);
    codec_.accumulate(wire.data() + 1, sum);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], 1 + decoded[i]);
  }
}

// The decoded values and the residual add up to the input.
TEST_P(EveryCodec, TheResidualKeepsTheCompressionError) {
  for (const std::size_t count : {1, 300, 1000}) {
    const auto values = random_values(count);
    std::vector<float> residual(count);
    const auto decoded = through(codec_, values, residual);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_FLOAT_EQ(decoded[i] + residual[i], values[i]);
    }
  }
}

// The mean over many steps converges to the gradient as 1/steps, even for values that are never among the largest.
TEST_P(EveryCodec, ErrorFeedbackConverges) {
  const auto gradient = random_values(1000);
  std::vector<float> residual(1000);
  std::vector<double> sum(1000);
  const auto worst = [&](int steps) {
    double error = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      error = std::max(error, std::abs(sum[i] / steps - gradient[i]));
    }
    return error;
  };
  double early = 0;
  for (int step = 1; step <= 400; ++step) {
    const auto decoded = through(codec_, gradient, residual);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += decoded[i];
    if (step == 50) early = worst(step);
  }
  EXPECT_LE(worst(400), 0.3 * early + 1e-6);
  EXPECT_LT(worst(400), 0.05);
}

TEST_P(EveryCodec, NonFiniteValuesAreSentAndNotKept) {
  for (const float bad : {kNotANumber, kInfinity, -kInfinity}) {
    auto values = random_values(1000);
    values[500] = bad;
    std::vector<float> residual(1000);
    const auto decoded = through(codec_, values, residual);
    EXPECT_FALSE(std::isfinite(decoded[500])) << bad;
    EXPECT_TRUE(
        std::all_of(residual.begin(), residual.end(), [](float r) { return std::isfinite(r); }));
  }
}

TEST(Codec, SixteenBitsRoundToNearest) {
  const auto values = random_values(999);
  const auto brains = through(Codec(Compression::kBF16), values);
  const auto halves = through(Codec(Compression::kF16), values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(brains[i], to_float(to_bfloat16(values[i])));
    EXPECT_EQ(halves[i], to_float(to_half(values[i])));
  }
}

TEST(Codec, BytesAreWrongByHalfAScaleAtMost) {
  auto values = random_values(1000);
  for (std::size_t i = 256; i < 512; ++i) values[i] *= 1e-6f;  // each block has a separate scale
  std::fill(values.begin() + 512, values.begin() + 768, 0.0f);
  const Codec codec(Compression::kInt8);
  EXPECT_EQ(codec.encoded_bytes(1000), 4 * sizeof(float) + 1000);
  const auto decoded = through(codec, values);
  for (std::size_t block = 0; block < 1000; block += 256) {
    const std::size_t end = std::min<std::size_t>(block + 256, 1000);
    float largest = 0;
    for (std::size_t i = block; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
    for (std::size_t i = block; i < end; ++i) {
      ASSERT_LE(std::abs(decoded[i] - values[i]), 0.5001f * largest / 127) << i;
    }
  }
}

TEST(Codec, BytesOfTinyAndHugeValues) {
  const Codec codec(Compression::kInt8);
  std::vector<float> tiny(10, 1e-40f), residual(10);
  EXPECT_EQ(through(codec, tiny, residual), std::vector<float>(10, 0));
  EXPECT_EQ(residual, tiny);
  const std::vector<float> huge(300, 3e38f);
  for (const float value : through(codec, huge)) EXPECT_NEAR(value / huge[0], 1, 1e-6);
}

TEST(Codec, TopKSendsExactlyTheLargest) {
  const auto values = random_values(10007);
  const auto decoded = through(Codec(Compression::kTopK, 0.05), values);
  std::vector<float> magnitudes;
  for (const float value : values) magnitudes.push_back(std::abs(value));
  std::sort(magnitudes.rbegin(), magnitudes.rend());
  const std::size_t k = 501;  // rounded up
  EXPECT_EQ(Codec(Compression::kTopK, 0.05).encoded_bytes(10007), 8 * k);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(decoded[i], std::abs(values[i]) >= magnitudes[k - 1] ? values[i] : 0);
  }
}

TEST(Codec, TopKTakesTheFirstAmongEquals) {
  const std::vector<float> values = {1, -2, 2, 2, -2, 0};
  EXPECT_EQ(through(Codec(Compression::kTopK, 0.5), values),
            (std::vector<float>{0, -2, 2, 2, 0, 0}));
  EXPECT_EQ(through(Codec(Compression::kTopK, 1), values), values);
  EXPECT_EQ(through(Codec(Compression::kTopK, 1e-9), values),
            (std::vector<float>{0, -2, 0, 0, 0, 0}));
}

TEST(Codec, DamagedIndicesDoNotReachMemory) {
  const Codec codec(Compression::kTopK, 0.5);
  std::vector<float> values(4);
  std::vector<std::byte> wire(codec.encoded_bytes(4), std::byte{0xff});
  EXPECT_THROW(codec.decode(wire.data(), values), CommError);
}

TEST(Codec, ParsesNamesAndRefusesOthers) {
  EXPECT_EQ(Codec::parse("fp16").kind(), Compression::kF16);
  EXPECT_EQ(Codec::parse("topk").text(), "topk:0.01");
  for (const char* text : {"", "zip", "bf16:0.1", "topk:", "topk:x", "topk:0", "topk:-1", "topk:2",
                           "topk:0.1x", "topk:nan"}) {
    EXPECT_THROW(Codec::parse(text), ConfigError) << text;
  }
}

}  // namespace
}  // namespace tutti::comm
