#include "tutti/models/science/gan3d/leaky_drop.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <bit>

#include "tutti/kernels/operator_scope.h"

namespace tutti::models::gan3d {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

inline __attribute__((always_inline)) float load(float x) {
  return x;
}
inline __attribute__((always_inline)) float load(std::uint16_t x) {
  return std::bit_cast<float>(std::uint32_t{x} << 16);
}
inline __attribute__((always_inline)) void store(float& to, float x) {
  to = x;
}
inline __attribute__((always_inline)) void store(std::uint16_t& to, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  to = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct Factors {
  float above, below;       // factors of values above and below 0 that are kept
  std::uint32_t threshold;  // an element is dropped if its random number is below it
  std::uint32_t seed;
};

// A 32-bit random number for each element, by arithmetic that vectorises.
inline __attribute__((always_inline)) std::uint32_t number_of(std::uint32_t index,
                                                              std::uint32_t seed) {
  std::uint32_t x = index * 0x9e3779b1u + seed;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// Factors by value and arrays without overlap, so that the loops vectorise.
template <class T>
inline __attribute__((always_inline)) void forward_of(const T* __restrict in, T* __restrict out,
                                                      std::int64_t begin, std::int64_t end,
                                                      const Factors f) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float x = load(in[i]);
    const float factor = x > 0 ? f.above : f.below;
    const float scale =
        number_of(static_cast<std::uint32_t>(i), f.seed) < f.threshold ? 0.f : factor;
    store(out[i], x * scale);
  }
}

template <class T>
inline __attribute__((always_inline)) void backward_of(const T* __restrict gradient,
                                                       const T* __restrict out, T* __restrict to,
                                                       std::int64_t begin, std::int64_t end,
                                                       const Factors f) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float y = load(out[i]);
    const float below = y < 0 ? f.below : 0.f;
    store(to[i], load(gradient[i]) * (y > 0 ? f.above : below));
  }
}

// Compiled for several instruction sets, selected when the program starts.
#define TUTTI_FOR_EVERY_PROCESSOR \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))

TUTTI_FOR_EVERY_PROCESSOR void run(const float* in, float* out, std::int64_t begin,
                                   std::int64_t end, const Factors& f) {
  forward_of(in, out, begin, end, f);
}
TUTTI_FOR_EVERY_PROCESSOR void run(const std::uint16_t* in, std::uint16_t* out, std::int64_t begin,
                                   std::int64_t end, const Factors& f) {
  forward_of(in, out, begin, end, f);
}
TUTTI_FOR_EVERY_PROCESSOR void run_back(const float* gradient, const float* out, float* to,
                                        std::int64_t begin, std::int64_t end, const Factors& f) {
  backward_of(gradient, out, to, begin, end, f);
}
TUTTI_FOR_EVERY_PROCESSOR void run_back(const std::uint16_t* gradient, const std::uint16_t* out,
                                        std::uint16_t* to, std::int64_t begin, std::int64_t end,
                                        const Factors& f) {
  backward_of(gradient, out, to, begin, end, f);
}

// Calls work(pointers of the right type, begin, end) on all threads.
template <class Work>
void each_part(const Tensor& like, Work work) {
  at::parallel_for(0, like.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    if (like.scalar_type() == torch::kBFloat16)
      work(std::uint16_t{}, begin, end);
    else
      work(float{}, begin, end);
  });
}

template <class T>
T* data_of(const Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

Factors factors_of(double slope, double drop, std::int64_t seed) {
  const double scale = 1 / (1 - drop);
  return {static_cast<float>(scale), static_cast<float>(scale * slope),
          static_cast<std::uint32_t>(drop * 0x1p32), static_cast<std::uint32_t>(seed)};
}

struct LeakyDrop : Function<LeakyDrop> {
  static Tensor forward(AutogradContext* context, const Tensor& input, double slope, double drop,
                        std::int64_t seed) {
    const kernels::OperatorScope scope("tutti::leaky_drop", input);
    const Tensor x = input.is_non_overlapping_and_dense() ? input : input.contiguous();
    const Tensor out = torch::empty_like(x);
    const Factors factors = factors_of(slope, drop, seed);
    each_part(x, [&](auto type, std::int64_t begin, std::int64_t end) {
      using T = decltype(type);
      run(data_of<const T>(x), data_of<T>(out), begin, end, factors);
    });
    context->save_for_backward({out});
    context->saved_data["slope"] = slope;
    context->saved_data["drop"] = drop;
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor out = context->get_saved_variables()[0];
    const kernels::OperatorScope scope("tutti::leaky_drop_backward", out);
    Tensor gradient = gradients[0].to(out.scalar_type());
    if (gradient.strides() != out.strides()) gradient = torch::empty_like(out).copy_(gradient);
    const Tensor to = torch::empty_like(out);
    const Factors factors = factors_of(context->saved_data["slope"].toDouble(),
                                       context->saved_data["drop"].toDouble(), 0);
    each_part(out, [&](auto type, std::int64_t begin, std::int64_t end) {
      using T = decltype(type);
      run_back(data_of<const T>(gradient), data_of<const T>(out), data_of<T>(to), begin, end,
               factors);
    });
    return {to, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor leaky_drop(const Tensor& input, double slope, double drop, std::uint64_t seed) {
  return LeakyDrop::apply(input, slope, drop, static_cast<std::int64_t>(seed));
}

}  // namespace tutti::models::gan3d
