#include <torch/types.h>

#include "tutti/kernels/conv3d/volume.h"

namespace tutti::kernels {

torch::Tensor apply_cube_symmetry(const torch::Tensor& volumes, std::uint64_t symmetry) {
  static constexpr std::int64_t kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const std::int64_t first = volumes.dim() - 3;
  std::vector<std::int64_t> order, mirrors;
  for (std::int64_t axis = 0; axis < first; ++axis) order.push_back(axis);
  for (std::int64_t axis : kOrders[symmetry / 8 % 6]) order.push_back(first + axis);
  for (std::int64_t axis = 0; axis < 3; ++axis)
    if (symmetry >> axis & 1) mirrors.push_back(first + axis);
  return volumes.permute(order).flip(mirrors).contiguous();
}

}  // namespace tutti::kernels
