// Small pieces of a large file, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace tutti::io {

struct FilePiece {
  std::int64_t offset, bytes;
};

// Calls take(bytes) for each piece in their order, while the next ones are being read, past the
// cache of the operating system: finding memory for that would take longer than reading. What
// `take` gets is gone when it returns; its place in memory is as aligned as the piece in the file.
// Throws IoError when the file cannot be read.
void read_pieces(const std::filesystem::path& path, std::span<const FilePiece> pieces,
                 const std::function<void(std::span<const std::byte>)>& take);

}  // namespace tutti::io
