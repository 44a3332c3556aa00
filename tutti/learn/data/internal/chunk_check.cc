#include "tutti/learn/data/internal/chunk_check.h"

#include <algorithm>
#include <utility>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn {

ChunkCheck::ChunkCheck(const DataFile& file, std::int64_t chunk, const std::byte* start)
    : file_(file), chunk_(chunk), start_(start) {
  sums_.resize((static_cast<std::size_t>(file.bytes_of(chunk)) + kPieceBytes - 1) / kPieceBytes);
  if (file.schema().storage != Storage::kDense) return;
  const Matrix m = file.view(chunk, start);
  first_value_ = static_cast<std::size_t>(static_cast<const std::byte*>(m.values) - start);
  end_of_values_ = first_value_ + static_cast<std::size_t>(m.entries()) * size_of(m.dtype);
}

std::int64_t ChunkCheck::piece_bytes() {
  return static_cast<std::int64_t>(kPieceBytes);
}

ChunkCheck::Walk::Walk(ChunkCheck& check, std::int64_t begin, std::int64_t end)
    : check_(check),
      at_(static_cast<std::size_t>(begin) * kPieceBytes),
      end_(std::min(static_cast<std::size_t>(end) * kPieceBytes,
                    static_cast<std::size_t>(check.file_.bytes_of(check.chunk_)))) {}

// In steps that fit into the L1 cache, where the values are then checked.
void ChunkCheck::Walk::check_until(std::int64_t byte) {
  constexpr std::size_t kStep = 8 << 10;
  while (at_ < end_ && at_ < static_cast<std::size_t>(byte)) {
    const std::size_t next = std::min(end_, at_ + kStep);
    sum_.add(check_.start_ + at_, next - at_);
    check_.check_values_of(at_, next);
    if (next % kPieceBytes == 0 || next == end_)
      check_.sums_[at_ / kPieceBytes] = std::exchange(sum_, {}).value();
    at_ = next;
  }
}

void ChunkCheck::Walk::check_all() {
  check_until(static_cast<std::int64_t>(end_));
}

void ChunkCheck::check_values_of(std::size_t begin, std::size_t end) {
  const DType dtype = file_.schema().dtype;
  begin = std::max(begin, first_value_);
  end = std::min(end, end_of_values_);
  const std::size_t count = begin < end ? (end - begin) / size_of(dtype) : 0;
  if (comm::find_not_finite(dtype, start_ + begin, static_cast<std::int64_t>(count)) >= 0)
    are_finite_ = false;
}

// If a value is not finite, checks all values again to report which one.
void ChunkCheck::finish() const {
  file_.compare(chunk_, start_, checksum_of(sums_.data(), sums_.size() * sizeof(sums_[0])));
  if (are_finite_) return;
  Threads alone(1);
  check(file_.view(chunk_, start_), alone);
}

}  // namespace tutti::learn
