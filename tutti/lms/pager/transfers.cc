#include "tutti/lms/pager/transfers.h"

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "tutti/core/crc32c.h"
#include "tutti/lms/pager/mapping.h"

namespace tutti::lms {

void Transfers::start_write(PagedBlock& block, const Encoding& encoding, std::int64_t room) {
  const bool is_encoded = encode(block, encoding, room);
  const std::int64_t bytes = is_encoded ? block.staging_bytes : block.bytes;
  try {
    block.extent = store_->allocate(bytes);
    memory_.set_writable(block.address, block.bytes, false);
  } catch (...) {
    store_->free(block.extent);
    free_staging(block);
    throw;
  }
  if (verifies_) block.checksum = crc32c(block.address, static_cast<std::size_t>(block.bytes));
  block.state = PagedBlock::State::kWriting;
  block.is_cancelled = false;
  block.transfer = next_transfer_++;
  in_flight_.push_back(&block);
  store_->start_write(block.transfer, block.extent.offset, bytes,
                      is_encoded ? block.staging : block.address);
}

// Encodes the block into its staging memory. Returns false if it should be written as it is.
bool Transfers::encode(PagedBlock& block, const Encoding& encoding, std::int64_t room) {
  block.encoding = {};
  if (encoding.codec == Codec::kNone || !memory_.is_host()) return false;
  // Contents differ from step to step, so the result may be larger than expected.
  const std::int64_t padding = (block.bytes / kPieceBytes + 2) * io::kIoAlignment;
  const std::int64_t capacity =
      std::min({encoding.bytes * 9 / 8 + padding, block.bytes * 3 / 4, room}) / io::kIoAlignment *
      io::kIoAlignment;
  if (capacity <= 0) return false;
  std::byte* const memory = map_temporary(capacity);
  const bool is_encoded =
      block.encoding.encode(encoding.codec, {block.address, static_cast<std::size_t>(block.bytes)},
                            {memory, static_cast<std::size_t>(capacity)});
  const std::int64_t used = is_encoded ? block.encoding.stored_bytes() : 0;
  if (used < capacity) unmap(memory + used, capacity - used);
  if (is_encoded) add_staging(block, memory, used);
  return is_encoded;
}

void Transfers::add_staging(PagedBlock& block, std::byte* memory, std::int64_t bytes) {
  block.staging = memory;
  block.staging_bytes = bytes;
  statistics_.add_resident(bytes);
}

void Transfers::free_staging(PagedBlock& block) {
  if (!block.staging) return;
  unmap(block.staging, block.staging_bytes);
  statistics_.add_resident(-block.staging_bytes);
  block.staging = nullptr;
  block.staging_bytes = 0;
}

void Transfers::cancel_write(PagedBlock& block) {
  if (block.state != PagedBlock::State::kWriting || block.is_cancelled) return;
  block.is_cancelled = true;
  ++statistics_.cancelled;
  memory_.set_writable(block.address, block.bytes, true);
}

void Transfers::start_read(PagedBlock& block) {
  begin_read(block);
  if (block.encoding.exists()) {
    const std::int64_t bytes = block.encoding.stored_bytes();
    add_staging(block, map_temporary(bytes), bytes);
  }
  block.transfer = next_transfer_++;
  in_flight_.push_back(&block);
  store_->start_read(block.transfer, block.extent.offset, block.extent.bytes,
                     block.staging ? block.staging : block.temporary);
}

void Transfers::begin_read(PagedBlock& block) {
  block.temporary = memory_.map_temporary(block.bytes);
  block.read_error = 0;
  statistics_.add_resident(block.bytes);
  statistics_.out -= block.bytes;
  block.state = PagedBlock::State::kReading;
}

void Transfers::read_in_pieces(PagedBlock& block) {
  begin_read(block);
  std::byte* const buffer = map_temporary(kPieceBytes);
  std::int64_t offset = block.extent.offset;
  int error = 0;
  for (std::size_t piece = 0; piece < block.encoding.pieces() && error == 0; ++piece) {
    const std::int64_t bytes = block.encoding.stored_bytes(piece), id = next_transfer_++;
    store_->start_read(id, offset, bytes, buffer);
    store_->wait(id);
    error = store_->result(id);
    if (error == 0 &&
        !block.encoding.decode_piece(piece, {buffer, static_cast<std::size_t>(bytes)},
                                     {block.temporary, static_cast<std::size_t>(block.bytes)}))
      error = EBADMSG;
    offset += bytes;
  }
  unmap(buffer, kPieceBytes);
  finish_read(block, error);
}

void Transfers::complete(PagedBlock& block) {
  const int error = store_->result(block.transfer);
  block.transfer = 0;
  in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), &block));
  if (block.state == PagedBlock::State::kWriting)
    complete_write(block, error);
  else
    complete_read(block, error);
}

void Transfers::complete_write(PagedBlock& block, int error) {
  if (error == 0) statistics_.bytes_written += block.extent.bytes;
  free_staging(block);
  if (error != 0 || block.is_cancelled || !block.is_used) {
    if (error != 0 && block.is_used && !block.is_cancelled) {
      ++failed_writes_;
      write_error_ = error;
    }
    if (!block.is_cancelled) memory_.set_writable(block.address, block.bytes, true);
    store_->free(block.extent);
    block.state = PagedBlock::State::kResident;
    return;
  }
  memory_.discard(block.address, block.bytes);
  block.state = PagedBlock::State::kOut;
  ++statistics_.page_outs;
  statistics_.encoded += block.encoding.exists();
  statistics_.out += block.bytes;
  statistics_.add_resident(-block.bytes);
}

void Transfers::complete_read(PagedBlock& block, int error) {
  if (error == 0 && block.staging && block.is_used &&
      !block.encoding.decode({block.staging, static_cast<std::size_t>(block.staging_bytes)},
                             {block.temporary, static_cast<std::size_t>(block.bytes)}))
    error = EBADMSG;
  free_staging(block);
  finish_read(block, error);
}

void Transfers::finish_read(PagedBlock& block, int error) {
  const auto size = static_cast<std::size_t>(block.bytes);
  if (error == 0 && block.is_used && verifies_ && crc32c(block.temporary, size) != block.checksum)
    error = EBADMSG;
  if (error == 0 && block.is_used)
    error = memory_.move_temporary(block.temporary, block.bytes, block.address);
  if (error != 0 || !block.is_used) {
    memory_.unmap_temporary(block.temporary, block.bytes);
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
  statistics_.bytes_read += block.extent.bytes;
  store_->free(block.extent);
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
