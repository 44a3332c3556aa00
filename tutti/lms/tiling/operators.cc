#include "tutti/lms/tiling/operators.h"

#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

// Calls `visit` for all tensors in a value.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  }
}

}  // namespace

bool Call::is_large(std::int64_t others) const {
  std::int64_t bytes = others;
  for (std::size_t i = 0; i < count_; ++i)
    for_each_tensor((*this)[i], [&](const at::Tensor& tensor) { bytes += bytes_of(tensor); });
  return bytes > tile_bytes();
}

bool Call::is_plain() const {
  bool all = true;
  for (std::size_t i = 0; i < count_; ++i)
    for_each_tensor((*this)[i], [&](const at::Tensor& tensor) { all &= lms::is_plain(tensor); });
  return all;
}

}  // namespace tutti::lms
