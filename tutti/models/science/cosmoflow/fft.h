// The discrete Fourier transform of a cube, computed by FFTW.
#pragma once

#include <complex>
#include <span>

namespace tutti::models::cosmoflow {

class CubeFft {
 public:
  using Complex = std::complex<float>;

  // `side` must be a power of two, at least 2. Throws ConfigError.
  explicit CubeFft(int side);

  int side() const { return side_; }
  // In place, side^3 values, the last index fastest. forward has exp(-i k x) and no factor; inverse divides by side^3,
  // so it is the inverse of forward. Thread-safe.
  void forward(std::span<Complex> cube) const;
  void inverse(std::span<Complex> cube) const;

 private:
  int side_;
};

}  // namespace tutti::models::cosmoflow
