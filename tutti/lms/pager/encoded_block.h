// Content of a block in a lossless encoding (codec.h), as it is stored in the swap file.
//
// A block is encoded in pieces of 2 MiB, each stored at a multiple of the page size. If the budget has no space for
// more, it can be decoded with a buffer of one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/lms/codec.h"

namespace tutti::lms {

inline constexpr std::int64_t kPieceBytes = 2 << 20;

class EncodedBlock {
 public:
  // Encodes `block` into `output`. Returns false, with undefined content of `output`, if the codec does not apply to a
  // piece, or the result does not fit.
  bool encode(Codec codec, std::span<const std::byte> block, std::span<std::byte> output);
  // Decodes `stored`, the complete output of encode(). Fails with DDL-5-64 if it is damaged.
  Result decode(std::span<const std::byte> stored, std::span<std::byte> block) const;
  // Decodes one piece of `block`. `stored` starts where the piece does.
  Result decode_piece(std::size_t piece, std::span<const std::byte> stored,
                      std::span<std::byte> block) const;

  bool exists() const { return !pieces_.empty(); }
  std::size_t pieces() const { return pieces_.size(); }
  // Size of one piece and of all pieces in the file; multiples of the page size.
  std::int64_t stored_bytes(std::size_t piece) const;
  std::int64_t stored_bytes() const;

 private:
  Codec codec_ = Codec::kNone;
  std::vector<std::int64_t> pieces_;  // encoded bytes of each
};

}  // namespace tutti::lms
