// Memory mappings of the pager.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::lms {

inline constexpr std::int64_t kHugePage = 2 << 20;

enum class Access { kNone, kRead, kReadWrite };

struct Reservation {
  std::byte* address;  // a multiple of kHugePage
  std::int64_t bytes;
};

// Functions marked "throws" throw MemoryError (DDL-5-73).

// Reserves address space without memory and access rights: `most` bytes, or fewer if limits of the process require it,
// but at least `least`. Throws.
Reservation reserve(std::int64_t most, std::int64_t least);
// Changes the access rights. Throws.
void protect(std::byte* address, std::int64_t bytes, Access access);
// Revokes the access rights and then releases the memory, so other threads fault instead of reading zeros. Throws.
void discard(std::byte* address, std::int64_t bytes);
// Returns a new mapping with memory. Throws.
std::byte* map_temporary(std::int64_t bytes);
// Replaces the pages at `target` by those at `source` in one step. Returns 0 or errno.
int move_mapping(std::byte* source, std::int64_t bytes, std::byte* target);
// Moves the pages at `source` to `target` in one step; the range at `source` stays reserved, without memory and access
// rights. Returns 0 or errno.
int move_pages(std::byte* source, std::int64_t bytes, std::byte* target);
void unmap(std::byte* address, std::int64_t bytes);

}  // namespace tutti::lms
