#include "tutti/lms/pager/transfers.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "tutti/core/crc32c.h"
#include "tutti/lms/pager/mapping.h"

namespace tutti::lms {

void Transfers::start_write(PagedBlock& block) {
  const SwapFile::Extent extent = swap_.allocate(block.bytes);
  protect(block.address, block.bytes, Access::kRead);
  if (verifies_) block.checksum = crc32c(block.address, static_cast<std::size_t>(block.bytes));
  block.extent = extent;
  block.state = PagedBlock::State::kWriting;
  block.is_cancelled = false;
  block.transfer = next_transfer_++;
  in_flight_.push_back(&block);
  queue().start_write(block.transfer, extent.offset, block.bytes, block.address);
}

void Transfers::cancel_write(PagedBlock& block) {
  if (block.state != PagedBlock::State::kWriting || block.is_cancelled) return;
  block.is_cancelled = true;
  ++statistics_.cancelled;
  protect(block.address, block.bytes, Access::kReadWrite);
}

void Transfers::start_read(PagedBlock& block) {
  block.temporary = map_temporary(block.bytes);
  block.read_error = 0;
  statistics_.add_resident(block.bytes);
  statistics_.out -= block.bytes;
  block.state = PagedBlock::State::kReading;
  block.transfer = next_transfer_++;
  in_flight_.push_back(&block);
  queue().start_read(block.transfer, block.extent.offset, block.bytes, block.temporary);
}

void Transfers::complete(PagedBlock& block) {
  const int error = queue().result(block.transfer);
  block.transfer = 0;
  in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), &block));
  if (block.state == PagedBlock::State::kWriting)
    complete_write(block, error);
  else
    complete_read(block, error);
}

void Transfers::complete_write(PagedBlock& block, int error) {
  if (error == 0) statistics_.bytes_written += block.bytes;
  if (error != 0 || block.is_cancelled || !block.is_used) {
    if (error != 0 && block.is_used && !block.is_cancelled) {
      ++failed_writes_;
      write_error_ = error;
    }
    if (!block.is_cancelled) protect(block.address, block.bytes, Access::kReadWrite);
    swap_.free(block.extent);
    block.state = PagedBlock::State::kResident;
    return;
  }
  discard(block.address, block.bytes);
  block.state = PagedBlock::State::kOut;
  ++statistics_.page_outs;
  statistics_.out += block.bytes;
  statistics_.add_resident(-block.bytes);
}

void Transfers::complete_read(PagedBlock& block, int error) {
  const auto size = static_cast<std::size_t>(block.bytes);
  if (error == 0 && verifies_ && crc32c(block.temporary, size) != block.checksum) error = EBADMSG;
  if (error == 0 && block.is_used)
    error = move_mapping(block.temporary, block.bytes, block.address);
  if (error != 0 || !block.is_used) {
    unmap(block.temporary, block.bytes);
    block.temporary = nullptr;
    block.state = PagedBlock::State::kOut;
    block.read_error = error;
    statistics_.out += block.bytes;
    statistics_.add_resident(-block.bytes);
    return;
  }
  block.temporary = nullptr;
  block.state = PagedBlock::State::kResident;
  ++statistics_.page_ins;
  statistics_.bytes_read += block.bytes;
  swap_.free(block.extent);
}

std::int64_t Transfers::leaving_bytes() const {
  return std::accumulate(
      in_flight_.begin(), in_flight_.end(), std::int64_t{0},
      [](std::int64_t sum, const PagedBlock* block) { return sum + block->leaving_bytes(); });
}

PagedBlock* Transfers::next_to_leave() const {
  if (in_flight_.empty()) return nullptr;
  const auto leaving =
      std::find_if(in_flight_.begin(), in_flight_.end(),
                   [](const PagedBlock* block) { return block->leaving_bytes() > 0; });
  return leaving != in_flight_.end() ? *leaving : in_flight_.front();
}

}  // namespace tutti::lms
