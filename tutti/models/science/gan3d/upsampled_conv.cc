#include "tutti/models/science/gan3d/upsampled_conv.h"

#include <torch/types.h>

namespace tutti::models::gan3d {
namespace {

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  return (a >= 0 ? a : a - b + 1) / b;
}

// Along one axis: output s q + phase takes, for tap j of the kernel, the cell q + floor((phase + j - padding) / s).
struct AxisFold {
  AxisFold(std::int64_t cells, std::int64_t kernel, std::int64_t s, std::int64_t padding)
      : first(floor_divided(-padding, s)),
        taps(floor_divided(s + kernel - 2 - padding, s) - first + 1),
        size(cells * s + 2 * padding - kernel + 1),
        positions((size + s - 1) / s),
        after(positions + taps - 1 + first - cells),
        which(torch::zeros({s, taps, kernel})) {
    auto at = which.accessor<float, 3>();
    for (std::int64_t phase = 0; phase < s; ++phase)
      for (std::int64_t j = 0; j < kernel; ++j)
        at[phase][floor_divided(phase + j - padding, s) - first][j] = 1;
  }
  std::int64_t first;      // cell of the first tap, relative to q
  std::int64_t taps;       // cells in the receptive field of a kernel
  std::int64_t size;       // of the output
  std::int64_t positions;  // values of q
  std::int64_t after;      // zeros after the volume; negative: cells that are not needed
  torch::Tensor which;     // (phase, tap, j): 1 where j falls on the cell of the tap
};

}  // namespace

torch::Tensor upsampled_conv(const torch::Tensor& input, const torch::Tensor& weight,
                             const torch::Tensor& bias, const Size3& factor, const Size3& padding) {
  const std::int64_t out = weight.size(0), in = weight.size(1);
  std::vector<AxisFold> axes;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto d = static_cast<std::int64_t>(a) + 2;
    axes.emplace_back(input.size(d), weight.size(d), factor[a], padding[a]);
  }
  // (out, in, x, y, z), then each of the last three becomes (phase, tap).
  torch::Tensor folded = weight;
  for (const AxisFold& axis : axes) folded = torch::tensordot(folded, axis.which, {2}, {2});
  folded = folded.permute({2, 4, 6, 0, 1, 3, 5, 7})
               .reshape({factor[0] * factor[1] * factor[2] * out, in, axes[0].taps, axes[1].taps,
                         axes[2].taps});
  const torch::Tensor framed =
      torch::constant_pad_nd(input, {-axes[2].first, axes[2].after, -axes[1].first, axes[1].after,
                                     -axes[0].first, axes[0].after});
  torch::Tensor result =
      torch::conv3d(framed, folded, bias.repeat({factor[0] * factor[1] * factor[2]}))
          .contiguous()
          .view({input.size(0), factor[0], factor[1], factor[2], out, axes[0].positions,
                 axes[1].positions, axes[2].positions})
          .permute({0, 4, 5, 1, 6, 2, 7, 3})
          .reshape({input.size(0), out, axes[0].positions * factor[0],
                    axes[1].positions * factor[1], axes[2].positions * factor[2]});
  for (std::size_t a = 0; a < 3; ++a)
    result = result.narrow(static_cast<std::int64_t>(a) + 2, 0, axes[a].size);
  return result;
}

}  // namespace tutti::models::gan3d
