// Fewer bytes on the wire. A codec turns f32 values into a shorter form and back; collectives
// exchange that form.
//
//   bf16, f16   2 bytes per value, rounded to nearest even.
//   int8        blocks of 256 values share one f32 scale, the largest magnitude / 127; each value
//   is one byte,
//               wrong by at most half a scale. About 1.016 bytes per value.
//   topk        the given fraction of the values with the largest magnitudes, exactly, as index and
//   value: 8 bytes for
//               each that is sent, nothing for the others.
//
// Error feedback. Whatever a step does not say is kept in a residual and added to the values of the
// next step. So over all steps the decoded values and the last residual add up to what was given,
// and what is lost stays bounded however long training runs; without it, small gradients would
// never arrive. The residual belongs to one buffer on one rank.
//
// Values that are not finite stay visible: a NaN or infinity is sent (in an int8 block it makes the
// block NaN) and never enters the residual, which would keep it for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::comm {

enum class Compression : std::uint8_t { kNone, kBF16, kF16, kInt8, kTopK };

class Codec {
 public:
  static constexpr double kDefaultFraction = 0.01;

  // kNone sends f32 as it is. `fraction`, for kTopK only, in (0, 1]; else ConfigError.
  explicit Codec(Compression kind = Compression::kNone, double fraction = kDefaultFraction);
  // "none", "bf16", "f16" or "fp16", "int8", "topk" or "topk:0.05"; throws ConfigError that lists
  // them.
  static Codec parse(std::string_view text);
  // The form that `parse` reads: the same on two ranks exactly when their codecs are.
  std::string text() const;
  Compression kind() const { return kind_; }

  // Depends on the count only, so that every rank knows what to expect.
  std::size_t encoded_bytes(std::int64_t count) const;

  // Writes encoded_bytes(values.size()) bytes to `wire`, any alignment. `residual` is as long as
  // `values`, zero at first, and may be empty: then what is not said is lost. At most 2^32 values
  // for kTopK.
  void encode(std::span<const float> values, std::span<float> residual, std::byte* wire) const;

  // What `encode` wrote for as many values: stored in `values`, or added to them.
  // Throws CommError when the bytes cannot come from it.
  void decode(const std::byte* wire, std::span<float> values) const;
  void accumulate(const std::byte* wire, std::span<float> values) const;

 private:
  // values += sign * what the wire says
  void add(const std::byte* wire, float sign, std::span<float> values) const;

  Compression kind_;
  double fraction_;
};

}  // namespace tutti::comm
