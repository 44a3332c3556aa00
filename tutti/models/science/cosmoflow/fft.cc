#include "tutti/models/science/cosmoflow/fft.h"

#include <fftw3.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::models::cosmoflow {
namespace {

// FFTW: only the execution of a plan is thread-safe.
std::mutex planner;

struct DestroyPlan {
  void operator()(fftwf_plan plan) const {
    const std::scoped_lock lock(planner);
    fftwf_destroy_plan(plan);
  }
};
using Plan = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, DestroyPlan>;

// A square of the cube, copied to padded rows: in place, the columns of a large cube would map to few cache sets.
// FFTW_ESTIMATE does not measure, so results are reproducible on the same machine.
class Square {
 public:
  Square(int side, int sign)
      : side_(side), pitch_(side + 8), values_(std::size_t(side) * std::size_t(pitch_)) {
    const int both[] = {side, side}, rows[] = {side, pitch_};
    auto* values = reinterpret_cast<fftwf_complex*>(values_.data());
    const std::scoped_lock lock(planner);
    both_.reset(fftwf_plan_many_dft(2, both, 1, values, rows, 1, 0, values, rows, 1, 0, sign,
                                    FFTW_ESTIMATE));
    columns_.reset(fftwf_plan_many_dft(1, both, side, values, nullptr, pitch_, 1, values, nullptr,
                                       pitch_, 1, sign, FFTW_ESTIMATE));
  }

  // Transforms both axes, or only the first, of the square at `from` with a row stride of `step`.
  void transform(CubeFft::Complex* from, std::size_t step, bool is_both) {
    const auto side = std::size_t(side_), pitch = std::size_t(pitch_);
    for (std::size_t i = 0; i < side; ++i)
      std::copy_n(from + i * step, side, values_.data() + i * pitch);
    fftwf_execute((is_both ? both_ : columns_).get());
    for (std::size_t i = 0; i < side; ++i)
      std::copy_n(values_.data() + i * pitch, side, from + i * step);
  }

 private:
  int side_, pitch_;
  std::vector<CubeFft::Complex> values_;
  Plan both_, columns_;
};

void transform(int side, std::span<CubeFft::Complex> cube, int sign) {
  Square square(side, sign);
  const auto n = std::size_t(side);
  for (std::size_t x = 0; x < n; ++x) square.transform(&cube[x * n * n], n, true);
  for (std::size_t y = 0; y < n; ++y) square.transform(&cube[y * n], n * n, false);
}

}  // namespace

CubeFft::CubeFft(int side) : side_(side) {
  if (side < 2 || !std::has_single_bit(static_cast<unsigned>(side)))
    throw ConfigError(
        "DDL-1-99",
        fmt::format("Grids with a side of {} cells cannot be transformed. Use a power of two.",
                    side));
}

void CubeFft::forward(std::span<Complex> cube) const {
  transform(side_, cube, FFTW_FORWARD);
}

void CubeFft::inverse(std::span<Complex> cube) const {
  transform(side_, cube, FFTW_BACKWARD);
  const float scale = 1 / static_cast<float>(cube.size());
  for (Complex& value : cube) value *= scale;
}

}  // namespace tutti::models::cosmoflow
