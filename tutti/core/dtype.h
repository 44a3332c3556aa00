// Element types and reduction operations of the collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tutti {

enum class DType : std::uint8_t { kF32, kF64, kF16, kBF16, kI8, kU8, kI32, kI64 };
inline constexpr int kDTypeCount = 8;

// kAverage divides the sum by the number of ranks; integer results are truncated towards zero.
enum class ReduceOp : std::uint8_t { kSum, kAverage, kMin, kMax, kProduct };
inline constexpr int kReduceOpCount = 5;

// Bytes per element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64: return 8;
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kF16:
    case DType::kBF16: return 2;
    default: return 1;
  }
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

// The names in options and messages: "f32", "bf16", ...; "sum", "average", ...
std::string_view name_of(DType dtype);
std::string_view name_of(ReduceOp op);

// The inverse of name_of(). Throws ConfigError (DDL-1-01), which lists the valid names, for an unknown name.
DType parse_dtype(std::string_view name);
ReduceOp parse_reduce_op(std::string_view name);

// 16-bit floating-point values, stored as raw bits: IEEE 754 binary16, and bfloat16. Arithmetic is done in f32.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
float to_float(Half value);
float to_float(BFloat16 value);
// Rounds to nearest even. NaN stays NaN; overflow becomes infinity.
Half to_half(float value);
BFloat16 to_bfloat16(float value);

// Maps a C++ type to its DType in the member `value`, for example float to kF32.
template <class T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<float> { static constexpr DType value = DType::kF32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::kF64; };
template <> struct DTypeOf<Half> { static constexpr DType value = DType::kF16; };
template <> struct DTypeOf<BFloat16> { static constexpr DType value = DType::kBF16; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::kI8; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::kU8; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::kI32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::kI64; };
// clang-format on

}  // namespace tutti
