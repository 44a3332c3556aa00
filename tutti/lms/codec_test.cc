#include "tutti/lms/codec.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <vector>

namespace tutti::lms {
namespace {

using Bytes = std::vector<std::byte>;

template <class Value>
Bytes bytes_of(const std::vector<Value>& values) {
  Bytes bytes(values.size() * sizeof(Value));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Encodes into a buffer of exactly the predicted size and decodes. Returns the size; 0: the codec does not apply.
std::size_t round_trip(Codec codec, const Bytes& data) {
  const auto size = static_cast<std::size_t>(encoded_size(codec, data));
  if (size == 0) {
    Bytes output(2 * data.size() + 64);
    EXPECT_EQ(encode(codec, data, output), 0);
    return 0;
  }
  for (const std::size_t spare : {std::size_t{0}, std::size_t{1000}}) {
    Bytes output(size + spare), decoded(data.size(), std::byte{0xcc});
    EXPECT_EQ(encode(codec, data, output), static_cast<std::int64_t>(size));
    output.resize(size);
    EXPECT_TRUE(decode(codec, output, decoded));
    EXPECT_EQ(decoded, data);
    output.pop_back();
    EXPECT_FALSE(decode(codec, output, decoded)) << "truncated";
  }
  Bytes small(size - 1);
  EXPECT_EQ(encode(codec, data, small), 0) << "must report that the result does not fit";
  return size;
}

constexpr Codec kAll[] = {Codec::kZeroSuppressed, Codec::kBits, Codec::kNarrowInt64};

TEST(CodecTest, RoundTripOfRandomData) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const std::size_t size = round < 100 ? static_cast<std::size_t>(round) : random() % 3000;
    const unsigned density = static_cast<unsigned>(random() % 4);
    Bytes data(size);
    for (std::size_t word = 0; word + 4 <= size; word += 4) {
      const auto value = random() % 4 < density ? static_cast<std::uint32_t>(random()) : 0U;
      std::memcpy(data.data() + word, &value, 4);
    }
    for (const Codec codec : kAll) round_trip(codec, data);
  }
}

TEST(CodecTest, ZeroSuppressionHalvesReluOutputs) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> values(100'000);
  for (float& value : values) value = std::max(0.0F, normal(random));
  const Bytes data = bytes_of(values);
  const std::size_t size = round_trip(Codec::kZeroSuppressed, data);
  EXPECT_GT(size, data.size() / 2);
  EXPECT_LT(size, data.size() * 6 / 10);
  EXPECT_EQ(choose_codec(data).codec, Codec::kZeroSuppressed);
  EXPECT_EQ(choose_codec(data).bytes, static_cast<std::int64_t>(size));
}

TEST(CodecTest, KeepsNegativeZeroAndNan) {
  const Bytes data =
      bytes_of(std::vector<std::uint32_t>{0x80000000, 0, 0x7fc00001, 0xffc12345, 1, 0});
  EXPECT_EQ(round_trip(Codec::kZeroSuppressed, data), 8U + 4 * 4);
  EXPECT_EQ(round_trip(Codec::kBits, bytes_of(std::vector<float>{0.0F, -0.0F, 0.0F})), 12U + 8);
}

TEST(CodecTest, DropoutMasksBecomeBits) {
  std::mt19937 random(3);
  std::vector<float> scaled(6400);
  std::vector<std::uint8_t> flags(6400);
  for (std::size_t index = 0; index < scaled.size(); ++index) {
    scaled[index] = random() % 2 == 0 ? 0 : 1.25F;
    flags[index] = random() % 2 == 0 ? 0 : 1;
  }
  EXPECT_EQ(round_trip(Codec::kBits, bytes_of(scaled)), 12U + 800);
  EXPECT_EQ(round_trip(Codec::kBits, bytes_of(flags)), 12U + 800);
  EXPECT_EQ(choose_codec(bytes_of(flags)).codec, Codec::kBits);
  scaled[3000] = 7;
  EXPECT_EQ(round_trip(Codec::kBits, bytes_of(scaled)), 0U);
  EXPECT_EQ(round_trip(Codec::kBits, Bytes(100)), 12U + 8);  // a single value
}

TEST(CodecTest, PoolingIndicesBecomeNarrow) {
  const auto size_of = [](std::vector<std::int64_t> values) {
    return round_trip(Codec::kNarrowInt64, bytes_of(values));
  };
  EXPECT_EQ(size_of({5, 6, 260}), 16U + 3);
  EXPECT_EQ(size_of({5, 6, 261}), 16U + 6);
  EXPECT_EQ(size_of({-1, 65534}), 16U + 4);
  EXPECT_EQ(size_of({-1, 65535}), 16U + 8);
  EXPECT_EQ(size_of({INT64_MIN, INT64_MIN + 0xffffffffLL}), 16U + 8);
  EXPECT_EQ(size_of({INT64_MIN, INT64_MIN + 0x100000000LL}), 0U);
  EXPECT_EQ(size_of({INT64_MIN, INT64_MAX}), 0U);
  std::vector<std::int64_t> indices(1000);
  for (std::size_t index = 0; index < indices.size(); ++index)
    indices[index] = static_cast<std::int64_t>(index * 1000);
  EXPECT_EQ(choose_codec(bytes_of(indices)).codec, Codec::kNarrowInt64);
}

TEST(CodecTest, RejectsDamagedData) {
  const Bytes data = bytes_of(std::vector<float>(1000, 1.5F));
  Bytes decoded(data.size());
  for (const Codec codec : kAll) {
    EXPECT_FALSE(decode(codec, Bytes(5), decoded));
    Bytes stored(static_cast<std::size_t>(encoded_size(codec, data)));
    ASSERT_GT(encode(codec, data, stored), 0);
    Bytes shorter(data.size() / 2);
    EXPECT_FALSE(decode(codec, stored, shorter));
    std::fill(stored.begin(), stored.begin() + 16, std::byte{0xff});
    (void)decode(codec, stored, decoded).is_ok();  // must not read or write out of bounds
  }
  EXPECT_FALSE(decode(Codec::kNone, data, decoded));
}

TEST(CodecTest, ChoosesNoneForDenseData) {
  std::mt19937 random(4);
  std::vector<std::uint32_t> values(1000);
  for (auto& value : values) value = static_cast<std::uint32_t>(random()) | 1;
  EXPECT_EQ(choose_codec(bytes_of(values)).codec, Codec::kNone);
  EXPECT_EQ(choose_codec({}).codec, Codec::kNone);
}

}  // namespace
}  // namespace tutti::lms
