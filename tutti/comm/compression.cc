#include "tutti/comm/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/comm/kernels/sanitizer.h"
#include "tutti/comm/kernels/top_k.h"
#include "tutti/comm/kernels/vector_kernels.h"
#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"none", "bf16", "f16", "int8", "topk"};
constexpr std::size_t kBlock = 256;  // values that share a scale

// Element type on the wire; not for topk.
DType wire_dtype(Compression kind) {
  constexpr std::array<DType, 4> kTypes = {DType::kF32, DType::kBF16, DType::kF16, DType::kI8};
  return kTypes[static_cast<std::size_t>(kind)];
}

std::size_t block_count(std::size_t count) {
  return (count + kBlock - 1) / kBlock;
}

std::size_t top_k_count(double fraction, std::size_t count) {
  const auto k = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(count)));
  return std::min(k, count);
}

// Calls `body(b, begin, count)` for each block of int8. The scales of all blocks precede the bytes.
template <class Body>
void for_blocks(std::size_t count, Body&& body) {
  for (std::size_t b = 0; b < block_count(count); ++b) {
    body(b, b * kBlock, std::min(kBlock, count - b * kBlock));
  }
}

void encode_blocks(std::span<const float> values, std::byte* wire) {
  std::byte* bytes = wire + block_count(values.size()) * sizeof(float);
  for_blocks(values.size(), [&](std::size_t b, std::size_t begin, std::size_t count) {
    std::array<float, kBlock> padded{};
    std::array<std::int8_t, kBlock> quantised{};
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), count, padded.begin());
    const bool is_finite = find_not_finite(DType::kF32, padded.data(), kBlock) < 0;
    const float scale = is_finite ? quantise_vectors(padded.data(), kBlock, quantised.data())
                                  : std::numeric_limits<float>::quiet_NaN();
    std::memcpy(wire + b * sizeof scale, &scale, sizeof scale);
    std::memcpy(bytes + begin, quantised.data(), count);
  });
}

void add_blocks(const std::byte* wire, float sign, std::span<float> values) {
  const std::byte* bytes = wire + block_count(values.size()) * sizeof(float);
  for_blocks(values.size(), [&](std::size_t b, std::size_t begin, std::size_t count) {
    float scale = 0;
    std::memcpy(&scale, wire + b * sizeof scale, sizeof scale);
    add_scaled_vectors(DType::kI8, bytes + begin, sign * scale, count, &values[begin]);
  });
}

void add_top_k(const std::byte* wire, std::size_t k, float sign, std::span<float> values) {
  for (std::size_t i = 0; i < k; ++i) {
    const auto [index, value] = internal::top_k_entry(wire, k, i);
    if (index >= values.size()) {
      throw CommError("DDL-4-70",
                      "The topk data of a rank are damaged. Check that all ranks run the "
                      "same version of the library and pass the same count.");
    }
    values[index] += sign * value;
  }
}

void forget_not_finite(std::span<float> residual) {
  const auto first =
      find_not_finite(DType::kF32, residual.data(), static_cast<std::int64_t>(residual.size()));
  if (first < 0) return;
  std::replace_if(
      residual.begin() + first, residual.end(), [](float r) { return !std::isfinite(r); }, 0.0f);
}

}  // namespace

Codec::Codec(Compression kind, double fraction) : kind_(kind), fraction_(fraction) {
  if (!(fraction > 0 && fraction <= 1)) {
    throw ConfigError("DDL-1-60", fmt::format("The fraction {} of compression 'topk' is out of "
                                              "range. Use more than 0 and at most 1, for example "
                                              "topk:0.01.",
                                              fraction));
  }
}

Codec Codec::parse(std::string_view text) {
  const auto colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  if (name == "fp16") name = "f16";
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  const auto kind = static_cast<Compression>(found - kNames.begin());
  if (colon == std::string_view::npos && found != kNames.end()) return Codec(kind);
  if (kind == Compression::kTopK) {
    const std::string_view number = text.substr(colon + 1);
    double fraction = 0;
    const auto [rest, error] =
        std::from_chars(number.data(), number.data() + number.size(), fraction);
    if (error == std::errc() && rest == number.data() + number.size()) return Codec(kind, fraction);
  }
  throw ConfigError(
      "DDL-1-61",
      fmt::format("Unknown compression '{}'. Use one of: none, bf16, f16, int8, topk, or "
                  "topk with a fraction, for example topk:0.01.",
                  text));
}

std::string Codec::text() const {
  const auto name = kNames[static_cast<std::size_t>(kind_)];
  return kind_ == Compression::kTopK ? fmt::format("{}:{}", name, fraction_) : std::string(name);
}

std::size_t Codec::encoded_bytes(std::int64_t count) const {
  const auto values = static_cast<std::size_t>(count);
  if (kind_ == Compression::kTopK)
    return top_k_count(fraction_, values) * internal::kTopKEntryBytes;
  const std::size_t scales = kind_ == Compression::kInt8 ? block_count(values) : 0;
  return scales * sizeof(float) + values * size_of(wire_dtype(kind_));
}

void Codec::encode(std::span<const float> values, std::span<float> residual,
                   std::byte* wire) const {
  if (values.empty()) return;
  if (!residual.empty()) {
    add_scaled_vectors(DType::kF32, values.data(), 1, values.size(), residual.data());
    values = residual;
  }
  if (kind_ == Compression::kTopK) {
    internal::encode_top_k(values, top_k_count(fraction_, values.size()), wire);
  } else if (kind_ == Compression::kInt8) {
    encode_blocks(values, wire);
  } else {
    convert(DType::kF32, values.data(), wire_dtype(kind_), wire,
            static_cast<std::int64_t>(values.size()));
  }
  if (!residual.empty()) {
    add(wire, -1, residual);
    forget_not_finite(residual);
  }
}

void Codec::decode(const std::byte* wire, std::span<float> values) const {
  std::fill(values.begin(), values.end(), 0.0f);
  add(wire, 1, values);
}

void Codec::accumulate(const std::byte* wire, std::span<float> values) const {
  add(wire, 1, values);
}

void Codec::add(const std::byte* wire, float sign, std::span<float> values) const {
  if (values.empty()) return;
  internal::will_read(wire, encoded_bytes(static_cast<std::int64_t>(values.size())));
  internal::will_write(values.data(), values.size_bytes());
  if (kind_ == Compression::kTopK) {
    add_top_k(wire, top_k_count(fraction_, values.size()), sign, values);
  } else if (kind_ == Compression::kInt8) {
    add_blocks(wire, sign, values);
  } else {
    add_scaled_vectors(wire_dtype(kind_), wire, sign, values.size(), values.data());
  }
}

}  // namespace tutti::comm
