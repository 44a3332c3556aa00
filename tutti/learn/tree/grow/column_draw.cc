#include "tutti/learn/tree/grow/column_draw.h"

#include <algorithm>

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/tree/grow/column_draw.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::tree::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The function `priority` in vectors. Most vectors have no column in the range.
void draw_columns_in_vectors(std::uint64_t path, std::span<const int> columns, std::uint32_t first,
                             std::uint32_t last, std::vector<std::uint64_t>& drawn) {
  const hn::CappedTag<std::uint32_t, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, static_cast<std::uint32_t>(path));
  const auto high = hn::Set(d, static_cast<std::uint32_t>(path >> 32));
  const auto begin = hn::Set(d, first), width = hn::Set(d, last - first);
  HWY_ALIGN std::uint32_t priorities[16], chosen[16];
  std::size_t i = 0;
  for (; i + lanes <= columns.size(); i += lanes) {
    const auto column = hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(columns.data()) + i);
    auto x = hn::Xor(low, hn::Mul(column, hn::Set(d, 0x9e3779b9u)));
    x = hn::Add(hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352du)), high);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bu));
    x = hn::Xor(x, hn::ShiftRight<16>(x));
    const auto over = hn::Sub(x, begin);
    const auto is_inside = hn::Eq(hn::Min(over, width), over);
    if (hn::AllFalse(d, is_inside)) continue;
    const std::size_t count = hn::CompressStore(x, is_inside, d, priorities);
    hn::CompressStore(column, is_inside, d, chosen);
    for (std::size_t k = 0; k < count; ++k) drawn.push_back(draw_key(priorities[k], chosen[k]));
  }
  for (; i < columns.size(); ++i) {
    const std::uint32_t one = priority(path, columns[i]);
    if (one >= first && one <= last)
      drawn.push_back(draw_key(one, static_cast<std::uint32_t>(columns[i])));
  }
}

}  // namespace tutti::learn::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::learn::tree {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(draw_columns_in_vectors);

void draw_columns(std::uint64_t path, std::span<const int> columns, std::uint32_t first,
                  std::uint32_t last, std::vector<std::uint64_t>& drawn) {
  drawn.clear();
  HWY_DYNAMIC_DISPATCH(draw_columns_in_vectors)(path, columns, first, last, drawn);
  std::sort(drawn.begin(), drawn.end());
}

}  // namespace tutti::learn::tree
#endif
