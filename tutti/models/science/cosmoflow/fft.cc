#include "tutti/models/science/cosmoflow/fft.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::models::cosmoflow {
namespace {

// So many lines are transformed side by side, real and imaginary parts apart: each operation of the
// algorithm is one on a whole vector register.
constexpr int kLines = 16;

struct Lines {
  float *re, *im;
};

// Stockham's algorithm: at each of log2(n) stages, element p + r/2 (n = 2r-fold blocks) is turned
// and combined with element p, and results are stored so that they end in order, without a
// reversal of bits. Returns where the result lies.
__attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default"))) bool
transform_lines(Lines a, Lines b, int n, const float* cosines, const float* sines, float sign) {
  bool is_in_b = false;
  for (int length = n, stride = 1; length > 1; length /= 2, stride *= 2) {
    const int half = length / 2;
    for (int p = 0; p < half; ++p) {
      const float c = cosines[p * stride], s = sign * sines[p * stride];
      for (int q = 0; q < stride; ++q) {
        const float* __restrict xr = a.re + (q + stride * p) * kLines;
        const float* __restrict xi = a.im + (q + stride * p) * kLines;
        const float* __restrict yr = a.re + (q + stride * (p + half)) * kLines;
        const float* __restrict yi = a.im + (q + stride * (p + half)) * kLines;
        float* __restrict ur = b.re + (q + stride * 2 * p) * kLines;
        float* __restrict ui = b.im + (q + stride * 2 * p) * kLines;
        float* __restrict vr = b.re + (q + stride * (2 * p + 1)) * kLines;
        float* __restrict vi = b.im + (q + stride * (2 * p + 1)) * kLines;
        for (int i = 0; i < kLines; ++i) {
          const float dr = xr[i] - yr[i], di = xi[i] - yi[i];
          ur[i] = xr[i] + yr[i];
          ui[i] = xi[i] + yi[i];
          vr[i] = dr * c - di * s;
          vi[i] = dr * s + di * c;
        }
      }
    }
    std::swap(a, b);
    is_in_b = !is_in_b;
  }
  return is_in_b;
}

}  // namespace

CubeFft::CubeFft(int side) : side_(side) {
  if (side < 2 || !std::has_single_bit(static_cast<unsigned>(side)))
    throw ConfigError("DDL-1-99",
                      fmt::format("A grid of {} cells a side cannot be transformed. Take a power "
                                  "of two.",
                                  side));
  for (int i = 0; i < side; ++i) {
    cos_.push_back(static_cast<float>(std::cos(2 * std::numbers::pi * i / side)));
    sin_.push_back(static_cast<float>(std::sin(2 * std::numbers::pi * i / side)));
  }
}

void CubeFft::transform(std::span<Complex> cube, bool is_inverse) const {
  const std::int64_t n = side_, lines = n * n;
  std::vector<float> memory(static_cast<std::size_t>(4 * n * kLines));
  auto part = [&](int i) { return memory.data() + i * n * kLines; };
  const float scale = is_inverse ? 1 / static_cast<float>(n) : 1;
  for (std::int64_t step : {std::int64_t{1}, n, n * n}) {  // between neighbours along the axis
    // Line l along this axis begins at the l-th of those places whose coordinate on it is 0.
    auto begin_of = [&](std::int64_t line) { return line / step * step * n + line % step; };
    for (std::int64_t first = 0; first < lines; first += kLines) {
      const int count = static_cast<int>(std::min<std::int64_t>(kLines, lines - first));
      for (int l = 0; l < count; ++l) {
        const Complex* line = cube.data() + begin_of(first + l);
        for (std::int64_t i = 0; i < n; ++i) {
          part(0)[i * kLines + l] = line[i * step].real();
          part(1)[i * kLines + l] = line[i * step].imag();
        }
      }
      const bool is_in_b = transform_lines({part(0), part(1)}, {part(2), part(3)}, side_,
                                           cos_.data(), sin_.data(), is_inverse ? 1.f : -1.f);
      const float *re = part(is_in_b ? 2 : 0), *im = part(is_in_b ? 3 : 1);
      for (int l = 0; l < count; ++l) {
        Complex* line = cube.data() + begin_of(first + l);
        for (std::int64_t i = 0; i < n; ++i)
          line[i * step] = {scale * re[i * kLines + l], scale * im[i * kLines + l]};
      }
    }
  }
}

}  // namespace tutti::models::cosmoflow
