#include "tutti/core/dtype.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

#include "tutti/core/error.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, kDTypeCount> kDTypeNames = {"f32", "f64", "f16", "bf16",
                                                                   "i8",  "u8",  "i32", "i64"};
constexpr std::array<std::string_view, kReduceOpCount> kOpNames = {"sum", "average", "min", "max",
                                                                   "product"};

template <class Names>
int index_of(const Names& names, std::string_view name, const char* what) {
  std::string valid;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
    valid += (i ? ", " : "") + std::string(names[i]);
  }
  throw ConfigError("DDL-1-01", fmt::format("Unknown {} '{}'. Use one of: {}.", what, name, valid));
}

}  // namespace

std::string_view name_of(DType dtype) {
  return kDTypeNames[static_cast<int>(dtype)];
}
std::string_view name_of(ReduceOp op) {
  return kOpNames[static_cast<int>(op)];
}

DType parse_dtype(std::string_view name) {
  return static_cast<DType>(index_of(kDTypeNames, name, "element type"));
}
ReduceOp parse_reduce_op(std::string_view name) {
  return static_cast<ReduceOp>(index_of(kOpNames, name, "operation"));
}

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

float to_float(Half value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  // The shift leaves the exponent 127 - 15 too small. The product corrects it, also for subnormals.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {  // the result is subnormal; the float addition rounds it
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {
        static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

}  // namespace tutti
