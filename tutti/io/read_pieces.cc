#include "tutti/io/read_pieces.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "tutti/io/read_queue.h"

namespace tutti::io {
namespace {

constexpr std::size_t kAhead = 8;  // pieces being read or processed, each with a buffer

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
}

}  // namespace

void read_pieces(const std::filesystem::path& path, std::span<const FilePiece> pieces,
                 const std::function<void(std::span<const std::byte>)>& take) {
  // Bytes per buffer. A read starts at the aligned offset at or before the piece.
  std::int64_t room = kReadAlignment;
  for (const FilePiece& piece : pieces)
    room = std::max(room, rounded(piece.offset % kReadAlignment + piece.bytes));
  const std::unique_ptr<std::byte, decltype(&std::free)> buffers(
      static_cast<std::byte*>(
          std::aligned_alloc(kReadAlignment, kAhead * static_cast<std::size_t>(room))),
      &std::free);
  if (buffers == nullptr) throw std::bad_alloc();
  const auto buffer_of = [&](std::size_t i) {
    return buffers.get() + i % kAhead * static_cast<std::size_t>(room);
  };
  const auto queue = ReadQueue::open(path);  // destroyed before the buffers, which it reads into
  const auto start = [&](std::size_t i) {
    const std::int64_t before = pieces[i].offset % kReadAlignment;
    queue->start(static_cast<std::int64_t>(i), pieces[i].offset - before, before + pieces[i].bytes,
                 buffer_of(i));
  };
  for (std::size_t i = 0; i < std::min(kAhead, pieces.size()); ++i) start(i);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    queue->wait(static_cast<std::int64_t>(i));
    take({buffer_of(i) + pieces[i].offset % kReadAlignment,
          static_cast<std::size_t>(pieces[i].bytes)});
    if (i + kAhead < pieces.size()) start(i + kAhead);
  }
}

}  // namespace tutti::io
