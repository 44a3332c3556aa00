#include "tutti/comm/kernels/kernels.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace tutti::comm {
namespace {

// Scalar reference; all instruction sets must match it bitwise.
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
Wide<T> widened(T value) {
  if constexpr (kIsHalf<T>) {
    return to_float(value);
  } else {
    return value;
  }
}
template <class T>
T narrowed(Wide<T> value) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(value);
  } else {
    return value;
  }
}
template <class T>
bool is_nan(T value) {
  if constexpr (kIsHalf<T> || std::is_floating_point_v<T>) return std::isnan(widened(value));
  return false;
}

template <class W>
W reduced(ReduceOp op, W a, W b) {
  if (op == ReduceOp::kMin) return is_nan(a) || (!is_nan(b) && a <= b) ? a : b;
  if (op == ReduceOp::kMax) return is_nan(a) || (!is_nan(b) && a >= b) ? a : b;
  if constexpr (std::is_floating_point_v<W>) {
    return op == ReduceOp::kProduct ? a * b : a + b;
  } else {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    return static_cast<W>(op == ReduceOp::kProduct ? x * y : x + y);
  }
}

template <class T>
std::vector<T> expected(ReduceOp op, const std::vector<std::vector<T>>& sources,
                        std::int64_t divisor) {
  std::vector<T> result = sources[0];
  for (std::size_t i = 0; i < result.size(); ++i) {
    Wide<T> value = widened(sources[0][i]);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      value = reduced(op, value, widened(sources[s][i]));
    }
    if (op == ReduceOp::kAverage) {
      if constexpr (std::is_integral_v<T>) {
        __extension__ __int128 sum = 0;
        for (const auto& source : sources) sum += source[i];
        value = static_cast<T>(sum / divisor);
      } else {
        value /= static_cast<Wide<T>>(divisor);
      }
    }
    result[i] = narrowed<T>(value);
  }
  return result;
}

template <class T>
std::vector<T> random_values(std::size_t count, std::mt19937& random) {
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>((std::uint64_t{random()} << 32) | random());
    } else {
      value = narrowed<T>(static_cast<float>(random()) * 0x1p-29f - 4);
    }
  }
  return values;
}

template <class T>
bool same(const T* got, const T* wanted, std::size_t count) {
  if (count == 0 || std::memcmp(got, wanted, count * sizeof(T)) == 0) return true;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_nan(got[i]) && is_nan(wanted[i])) continue;
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) == 0) continue;
    if (widened(got[i]) == widened(wanted[i])) continue;  // zeros of either sign
    ADD_FAILURE() << "element " << i << " of " << count << ": " << +widened(got[i]) << ", not "
                  << +widened(wanted[i]);
    return false;
  }
  return true;
}

// Iterates over the compiled instruction sets that this machine supports.
class Kernels : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (GetParam() != HWY_SCALAR && !(hwy::SupportedTargets() & GetParam())) {
      GTEST_SKIP() << "this machine has no " << hwy::TargetName(GetParam());
    }
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(GetParam());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, Kernels, ::testing::Values(HWY_AVX3, HWY_AVX2, HWY_SCALAR),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

// Offsets every buffer by `shift` bytes from its 64-byte alignment. In place: the targets are the sources.
template <class T>
void check_reduce(ReduceOp op, std::size_t ranks, std::size_t count, std::size_t shift,
                  bool in_place) {
  std::mt19937 random(static_cast<unsigned>(ranks * 10000 + count));
  const std::int64_t divisor = ranks;
  std::vector<std::vector<T>> values;
  std::vector<std::vector<std::byte>> memory(2 * ranks);
  for (auto& bytes : memory) bytes.resize(count * sizeof(T) + shift + 65, std::byte{0x5a});
  const auto start = [&](std::size_t i) {
    return memory[i].data() + -reinterpret_cast<std::uintptr_t>(memory[i].data()) % 64 + shift;
  };
  std::vector<const void*> sources;
  std::vector<void*> targets;
  for (std::size_t r = 0; r < ranks; ++r) {
    values.push_back(random_values<T>(count, random));
    if (count > 0) std::memcpy(start(r), values[r].data(), count * sizeof(T));
    sources.push_back(start(r));
    targets.push_back(start(in_place ? r : ranks + r));
  }
  reduce(DTypeOf<T>::value, op, sources, targets, static_cast<std::int64_t>(count), divisor);
  const std::vector<T> wanted = expected(op, values, divisor);
  std::vector<T> got(count);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (count > 0) std::memcpy(got.data(), targets[r], count * sizeof(T));
    EXPECT_TRUE(same(got.data(), wanted.data(), count))
        << name_of(DTypeOf<T>::value) << ' ' << name_of(op) << ' ' << ranks << " ranks";
    EXPECT_EQ(static_cast<std::byte*>(targets[r])[count * sizeof(T)], std::byte{0x5a})
        << "past the end";
  }
}

template <class T>
void check_all_reductions() {
  for (int op = 0; op < kReduceOpCount; ++op) {
    for (const std::size_t ranks : {1, 2, 3, 4, 5, 8, 17}) {
      for (const std::size_t count : {0, 1, 7, 63, 64, 65, 1000, 4099}) {
        check_reduce<T>(static_cast<ReduceOp>(op), ranks, count, 0, true);
        check_reduce<T>(static_cast<ReduceOp>(op), ranks, count, sizeof(T) + 8, false);
      }
    }
  }
}

TEST_P(Kernels, ReduceF32) {
  check_all_reductions<float>();
}
TEST_P(Kernels, ReduceF64) {
  check_all_reductions<double>();
}
TEST_P(Kernels, ReduceF16) {
  check_all_reductions<Half>();
}
TEST_P(Kernels, ReduceBF16) {
  check_all_reductions<BFloat16>();
}
TEST_P(Kernels, ReduceI8) {
  check_all_reductions<std::int8_t>();
}
TEST_P(Kernels, ReduceU8) {
  check_all_reductions<std::uint8_t>();
}
TEST_P(Kernels, ReduceI32) {
  check_all_reductions<std::int32_t>();
}
TEST_P(Kernels, ReduceI64) {
  check_all_reductions<std::int64_t>();
}

TEST_P(Kernels, ReduceMoreThanTheCachesHold) {
  const std::size_t bytes = 1 << 20;
  for (const bool in_place : {true, false}) {
    check_reduce<float>(ReduceOp::kSum, 2, bytes / 4 + 5, 0, in_place);
    check_reduce<Half>(ReduceOp::kSum, 2, bytes / 2 + 5, 0, in_place);
    check_reduce<BFloat16>(ReduceOp::kAverage, 2, bytes / 2 + 5, 0, in_place);
    check_reduce<std::int8_t>(ReduceOp::kSum, 2, bytes + 5, 0, in_place);
  }
}

TEST_P(Kernels, OneTargetOfManySources) {
  const std::vector<float> a(100, 1), b(100, 2), c(100, 4);
  std::vector<float> sum(100);
  const void* sources[] = {a.data(), b.data(), c.data()};
  void* target = sum.data();
  reduce(DType::kF32, ReduceOp::kSum, sources, {&target, 1}, 100);
  EXPECT_EQ(sum, std::vector<float>(100, 7));
  reduce(DType::kF32, ReduceOp::kAverage, {sources, 1}, {&target, 1}, 100, 8);
  EXPECT_EQ(sum, std::vector<float>(100, 0.125f));
}

TEST_P(Kernels, NanAndInfinityPropagate) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      const std::vector<float> a = {kNan, 1, kNan, kInf, -kInf, 1}, b = {1, kNan, kNan, 1, 1, 2};
      std::vector<std::uint64_t> x(6), y(6);  // large enough for any type
      convert(DType::kF32, a.data(), dtype, x.data(), 6);
      convert(DType::kF32, b.data(), dtype, y.data(), 6);
      const void* sources[] = {x.data(), y.data()};
      void* target = x.data();
      reduce(dtype, op, sources, {&target, 1}, 6);
      std::vector<float> got(6);
      convert(dtype, x.data(), DType::kF32, got.data(), 6);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(got[i])) << name_of(dtype) << name_of(op);
      EXPECT_EQ(got[3], op == ReduceOp::kMin ? 1 : kInf);
      EXPECT_EQ(got[4], op == ReduceOp::kMax ? 1 : -kInf);
      EXPECT_EQ(got[5], reduced(op, 1.0f, 2.0f));
    }
  }
}

TEST_P(Kernels, NarrowingAgreesWithTheScalarFunctionsBitForBit) {
  std::vector<float> values;
  // Every sign and exponent, with the mantissas around each rounding point of both types, and NaNs with a payload.
  for (std::uint32_t top = 0; top < 0x10000; ++top) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u,
                                    0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      values.push_back(std::bit_cast<float>(top << 16 | low));
    }
  }
  std::vector<Half> halves(values.size());
  std::vector<BFloat16> brains(values.size());
  const auto count = static_cast<std::int64_t>(values.size());
  convert(DType::kF32, values.data(), DType::kF16, halves.data(), count);
  convert(DType::kF32, values.data(), DType::kBF16, brains.data(), count);
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    wrong += halves[i].bits != to_half(values[i]).bits;
    wrong += brains[i].bits != to_bfloat16(values[i]).bits;
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(Kernels, WideningAgreesWithTheScalarFunctions) {
  std::vector<std::uint16_t> bits(0x10000);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> from_half(bits.size()), from_brain(bits.size());
  std::vector<double> twice(bits.size());
  convert(DType::kF16, bits.data(), DType::kF32, from_half.data(), 0x10000);
  convert(DType::kBF16, bits.data(), DType::kF32, from_brain.data(), 0x10000);
  convert(DType::kF16, bits.data(), DType::kF64, twice.data(), 0x10000);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const float half = to_float(Half{bits[i]});
    ASSERT_TRUE(std::isnan(half) ? std::isnan(from_half[i]) : from_half[i] == half) << i;
    ASSERT_TRUE(std::isnan(half) ? std::isnan(twice[i]) : twice[i] == half) << i;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(from_brain[i]), std::uint32_t{bits[i]} << 16);
  }
}

TEST_P(Kernels, ConvertsEveryPairOfAnyCount) {
  std::mt19937 random(3);
  for (const std::int64_t count : {0, 1, 3, 15, 16, 17, 333}) {
    const auto values = random_values<float>(static_cast<std::size_t>(count), random);
    for (const DType from : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      for (const DType to : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
        std::vector<std::uint64_t> there(count + 1, 0x5a), back(count + 1, 0x5a);
        std::vector<float> got(count);
        convert(DType::kF32, values.data(), from, there.data(), count);
        convert(from, there.data(), to, back.data(), count);
        convert(to, back.data(), DType::kF32, got.data(), count);
        for (std::int64_t i = 0; i < count; ++i) {
          const bool is_coarse = from == DType::kBF16 || to == DType::kBF16;
          EXPECT_NEAR(got[i], values[i], std::abs(values[i]) * (is_coarse ? 0x1p-7f : 0x1p-10f));
        }
      }
    }
  }
}

TEST_P(Kernels, FindsTheFirstNumberThatIsNotFinite) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (const std::int64_t count : {1, 5, 64, 1001}) {
      std::vector<float> values(count, 1.5f);
      std::vector<std::uint64_t> data(count);
      convert(DType::kF32, values.data(), dtype, data.data(), count);
      EXPECT_EQ(find_not_finite(dtype, data.data(), count), -1);
      values.back() = std::numeric_limits<float>::quiet_NaN();
      convert(DType::kF32, values.data(), dtype, data.data(), count);
      EXPECT_EQ(find_not_finite(dtype, data.data(), count), count - 1);
      values[count / 2] = -std::numeric_limits<float>::infinity();
      convert(DType::kF32, values.data(), dtype, data.data(), count);
      EXPECT_EQ(find_not_finite(dtype, data.data(), count), count / 2);
    }
  }
  const std::vector<std::int8_t> ones(100, -1);
  EXPECT_EQ(find_not_finite(DType::kI8, ones.data(), 100), -1);
  EXPECT_EQ(find_not_finite(DType::kF32, nullptr, 0), -1);
}

TEST_P(Kernels, CopiesAreCopies) {
  std::mt19937 random(5);
  const auto source = random_values<std::uint8_t>((1 << 20) + 300, random);
  for (const auto copy : {stream_copy, copy_to_peers}) {
    for (const std::size_t bytes : {0, 1, 127, 1000, 1 << 20, (1 << 20) + 1, (1 << 20) + 277}) {
      for (const std::size_t shift : {0, 1, 63}) {
        std::vector<std::uint8_t> target(bytes + shift + 1, 0x5a);
        copy(target.data() + shift, source.data() + 3, bytes);
        EXPECT_EQ(std::memcmp(target.data() + shift, source.data() + 3, bytes), 0);
        EXPECT_EQ(target.back(), 0x5a);
      }
    }
    copy(nullptr, nullptr, 0);
  }
}

TEST_P(Kernels, ReportsItsInstructionSet) {
  EXPECT_STREQ(simd_target(), hwy::TargetName(GetParam()));
}

}  // namespace
}  // namespace tutti::comm
