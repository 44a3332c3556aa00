// The discrete Fourier transform of a cube.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::models::cosmoflow {

class CubeFft {
 public:
  using Complex = std::complex<float>;

  // `side` must be a power of two, at least 2. Throws ConfigError.
  explicit CubeFft(int side);

  int side() const { return side_; }
  // In place, side^3 values, the last index fastest. forward has exp(-i k x) and no factor; inverse
  // divides by side^3, so that it undoes forward.
  void forward(std::span<Complex> cube) const { transform(cube, false); }
  void inverse(std::span<Complex> cube) const { transform(cube, true); }

 private:
  void transform(std::span<Complex> cube, bool is_inverse) const;

  int side_;
  std::vector<float> cos_, sin_;  // of 2 pi i / side
};

}  // namespace tutti::models::cosmoflow
