#include "tutti/train/process_setup.h"

#include <malloc.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "tutti/core/clock.h"
#include "tutti/core/cpu_isa.h"
#include "tutti/lms/hooks/compat.h"
#include "tutti/os/cpus.h"

namespace tutti::train {

void prepare_process(int threads) {
  // A network allocates and frees the same large blocks at every step. By default malloc maps each of them again, and
  // the kernel zeroes the pages, which costs as much as many layers.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, 64 << 20);
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
}

int threads_of(const Options& options, int local_ranks) {
  if (const std::int64_t wanted = options.integer("threads"); wanted > 0)
    return static_cast<int>(wanted);
  const int usable = os::allowed_cpu_count(), all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // A rank that is bound to some of the CPUs has them exclusively.
  return std::max(1, usable < all ? usable : usable / std::max(1, local_ranks));
}

bool has_bf16() {
  static const bool has = [] {
    __builtin_cpu_init();
    return max_cpu_isa() >= CpuIsa::kAvx512 && __builtin_cpu_supports("avx512bf16") != 0;
  }();
  return has;
}

torch::ScalarType compute_type(const Options& options) {
  enum class Precision { kAuto, kF32, kBf16 };
  const auto precision = options.choice<Precision>("precision");
  const bool is_bf16 = precision == Precision::kAuto ? has_bf16() : precision == Precision::kBf16;
  return is_bf16 ? torch::kBFloat16 : torch::kFloat32;
}

// Measured, because clock rates and units are not reported: the largest matrix product that fits into the caches. It
// takes a few milliseconds; under load, most of the measurements are disturbed.
double peak_flops(const Options& options) {
  static const double peak = [&] {
    const torch::NoGradGuard no_gradients;
    const torch::Tensor a = torch::ones({1024, 1024}, compute_type(options));
    double best = 0;
    const Stopwatch all;
    for (int i = 0; i < 4 || all.seconds() < 0.1; ++i) {
      const Stopwatch watch;
      torch::mm(a, a);
      best = std::max(best, 2.0 * 1024 * 1024 * 1024 / watch.seconds());
    }
    return best;
  }();
  return peak;
}

Autocast::Autocast() : before_(lms::is_autocast_enabled()) {
  lms::set_autocast_type(at::kBFloat16);
  lms::set_autocast_enabled(true);
}

Autocast::~Autocast() {
  lms::set_autocast_enabled(before_);
  if (!before_) at::autocast::clear_cache();
}

torch::Tensor precise_loss(Task& task, const Options& options, std::size_t update,
                           const Batch& batch, std::uint64_t seed) {
  if (task.casts_itself() || compute_type(options) != torch::kBFloat16)
    return task.update_loss(update, batch, seed);
  const Autocast autocast;
  return task.update_loss(update, batch, seed);
}

}  // namespace tutti::train
