#include "tutti/kernels/amx/concat_rows.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

// Only called on CPUs with AMX, which all support these instruction sets.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16")

namespace tutti::kernels {
namespace {

void copy_signed(const Bf16* from, std::int64_t from_pixel, const Bf16* sign,
                 std::int64_t sign_pixel, Bf16* to, std::int64_t to_pixel, std::int64_t channels,
                 std::int64_t width) {
  for (std::int64_t x = 0; x < width; ++x) {
    const Bf16 *value = from + x * from_pixel, *tells = sign + x * sign_pixel;
    Bf16* out = to + x * to_pixel;
    for (std::int64_t c = 0; c < channels; ++c)
      out[c] = static_cast<std::int16_t>(tells[c]) > 0 ? value[c] : Bf16{0};
  }
}

}  // namespace

void copy_pixels(const Bf16* from, std::int64_t from_pixel, Bf16* to, std::int64_t to_pixel,
                 std::int64_t channels, std::int64_t width) {
  if (from_pixel == channels && to_pixel == channels) {
    std::memcpy(to, from, static_cast<std::size_t>(width * channels) * sizeof(Bf16));
    return;
  }
  const std::int64_t whole = channels / 16 * 16;
  for (std::int64_t x = 0; x < width; ++x, from += from_pixel, to += to_pixel) {
    for (std::int64_t c = 0; c < whole; c += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + c),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + c)));
    for (std::int64_t c = whole; c < channels; ++c) to[c] = from[c];
  }
}

std::int64_t ConcatRows::channels() const {
  std::int64_t all = 0;
  for (const Slice& slice : slices) all += slice.channels;
  return all;
}

void ConcatRows::read(std::int64_t y, Bf16* to) const {
  const std::int64_t n = y / image_pitch(), row = y % image_pitch() / step, all = channels(),
                     count = (width - 1) / step + 1;
  for (const Slice& slice : slices) {
    const Bf16* from = slice.at(n, row);
    if (sign.data)
      copy_signed(from, slice.pixel, sign.at(n, row), sign.pixel, to, step * all, slice.channels,
                  count);
    else
      copy_pixels(from, slice.pixel, to, step * all, slice.channels, count);
    to += slice.channels;
  }
}

void pair_pixels(const Bf16* row, Bf16* paired, std::int64_t pixels, std::int64_t channels,
                 std::int64_t tile) {
  for (std::int64_t x = 0; x < pixels; x += 2)
    for (std::int64_t c = 0; c < channels; c += 16) {
      const Bf16* first = row + x * channels + c;
      const __m512i low =
          _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)));
      const __m512i high = _mm512_cvtepu16_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + channels)));
      _mm512_storeu_si512(paired + c / 16 * tile + x * 16,
                          _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
}

void transpose_pairs(const Bf16* paired, Bf16* transposed, std::int64_t pixels,
                     std::int64_t channels, std::int64_t tile, std::int64_t length) {
  const __m512i offsets =
      _mm512_set_epi32(240, 224, 208, 192, 176, 160, 144, 128, 112, 96, 80, 64, 48, 32, 16, 0);
  for (std::int64_t x = 0; x < pixels; x += 32)
    for (std::int64_t c = 0; c < channels; ++c)
      _mm512_storeu_si512(
          transposed + c * length + x,
          _mm512_i32gather_epi32(offsets, paired + c / 16 * tile + x * 16 + c % 16 * 2, 4));
}

#pragma GCC pop_options

Band::Band(const ConcatRows& source, std::int64_t rows, std::int64_t gap, std::int64_t channels,
           std::int64_t tail)
    : source_(source),
      gap_(gap),
      channels_(channels),
      pitch_(source.width + gap),
      tail_(tail),
      values_(static_cast<std::size_t>((gap + rows * pitch_) * channels + tail)),
      narrow_(static_cast<std::size_t>(
          source.channels() == channels ? 0 : source.width * source.channels())) {
  if (!narrow_.empty()) {
    std::fill(values_.begin(), values_.end(), Bf16{0});
    return;
  }
  for (std::int64_t r = 0; r <= rows; ++r)  // before the first row and after each row
    std::fill_n(values_.data() + r * pitch_ * channels, gap * channels, Bf16{0});
}

void Band::read(std::int64_t first, std::int64_t count) {
  const std::int64_t used = source_.channels();
  for (std::int64_t r = 0; r < count; ++r) {
    Bf16* to = values_.data() + (gap_ + r * pitch_) * channels_;
    if (!source_.has_row(first + r)) {
      std::fill_n(to, source_.width * channels_, Bf16{0});
      continue;
    }
    Bf16* read_to = narrow_.empty() ? to : narrow_.data();
    if (source_.step > 1) std::fill_n(read_to, source_.width * used, Bf16{0});
    source_.read(first + r, read_to);
    if (!narrow_.empty()) copy_pixels(read_to, used, to, channels_, used, source_.width);
  }
  std::fill_n(values_.data() + (gap_ + count * pitch_) * channels_, tail_, Bf16{0});
}

}  // namespace tutti::kernels
