// Sequential processing of many small pieces of a large file, with read-ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace tutti::io {

struct FilePiece {
  std::int64_t offset, bytes;  // both in bytes, without alignment
};

// Calls `take` in the calling thread for each piece, in order, while the next seven are being read. The bytes are valid
// until `take` returns. Their address and the offset in the file are equal modulo kReadAlignment, so numbers that are
// aligned in the file are aligned in memory.
//
// Reads bypass the page cache (O_DIRECT) if the file system supports it, because allocating page cache would take
// longer than reading. Buffers take eight times the largest piece. Throws IoError (DDL-9-02) if the file cannot be
// read. Exceptions of `take` propagate.
void read_pieces(const std::filesystem::path& path, std::span<const FilePiece> pieces,
                 const std::function<void(std::span<const std::byte>)>& take);

}  // namespace tutti::io
