#include "tutti/lms/pager/encoded_block.h"

#include <algorithm>

#include "tutti/io/file_queue.h"

namespace tutti::lms {
namespace {

template <class Bytes>
Bytes piece_of(Bytes block, std::size_t piece) {
  const std::size_t begin = piece * kPieceBytes;
  return block.subspan(begin, std::min<std::size_t>(kPieceBytes, block.size() - begin));
}

}  // namespace

bool EncodedBlock::encode(Codec codec, std::span<const std::byte> block,
                          std::span<std::byte> output) {
  codec_ = codec;
  pieces_.clear();
  std::size_t end = 0;
  for (std::size_t piece = 0; piece * kPieceBytes < block.size(); ++piece) {
    const std::int64_t bytes =
        lms::encode(codec, piece_of(block, piece), output.subspan(std::min(end, output.size())));
    if (bytes == 0) {
      pieces_.clear();
      return false;
    }
    pieces_.push_back(bytes);
    end += static_cast<std::size_t>(stored_bytes(piece));
  }
  return true;
}

Result EncodedBlock::decode(std::span<const std::byte> stored, std::span<std::byte> block) const {
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    Result result = decode_piece(piece, stored, block);
    if (!result) return result;
    stored = stored.subspan(static_cast<std::size_t>(stored_bytes(piece)));
  }
  return Result::ok();
}

Result EncodedBlock::decode_piece(std::size_t piece, std::span<const std::byte> stored,
                                  std::span<std::byte> block) const {
  return lms::decode(codec_, stored.first(static_cast<std::size_t>(pieces_[piece])),
                     piece_of(block, piece));
}

std::int64_t EncodedBlock::stored_bytes(std::size_t piece) const {
  return (pieces_[piece] + io::kIoAlignment - 1) / io::kIoAlignment * io::kIoAlignment;
}

std::int64_t EncodedBlock::stored_bytes() const {
  std::int64_t sum = 0;
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) sum += stored_bytes(piece);
  return sum;
}

}  // namespace tutti::lms
