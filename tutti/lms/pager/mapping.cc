#include "tutti/lms/pager/mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tutti/core/error.h"
#include "tutti/core/rounded_bytes.h"

namespace tutti::lms {
namespace {

constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

[[noreturn]] void throw_no_mapping(const char* action, std::int64_t bytes) {
  throw MemoryError("DDL-5-73",
                    fmt::format("Cannot {} {} of address space: {}. Check ulimit -v and the limit "
                                "of mappings, sysctl vm.max_map_count.",
                                action, rounded_bytes(bytes), std::strerror(errno)));
}

}  // namespace

Reservation reserve(std::int64_t most, std::int64_t least) {
  for (std::int64_t bytes = most; bytes >= least; bytes /= 2) {
    void* const mapping =
        ::mmap(nullptr, static_cast<std::size_t>(bytes + kHugePage), PROT_NONE, kFlags, -1, 0);
    if (mapping == MAP_FAILED) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(mapping);
    const auto aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
    if (aligned > address) ::munmap(mapping, aligned - address);
    auto* const base = reinterpret_cast<std::byte*>(aligned);
    ::madvise(base, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
    return {base, bytes};
  }
  throw_no_mapping("reserve", least);
}

void protect(std::byte* address, std::int64_t bytes, Access access) {
  const int rights = access == Access::kNone   ? PROT_NONE
                     : access == Access::kRead ? PROT_READ
                                               : PROT_READ | PROT_WRITE;
  if (::mprotect(address, static_cast<std::size_t>(bytes), rights) != 0)
    throw_no_mapping("change the access rights of", bytes);
}

void discard(std::byte* address, std::int64_t bytes) {
  protect(address, bytes, Access::kNone);
  ::madvise(address, static_cast<std::size_t>(bytes), MADV_DONTNEED);
}

std::byte* map_temporary(std::int64_t bytes) {
  void* const mapping =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (mapping == MAP_FAILED) throw_no_mapping("map", bytes);
  ::madvise(mapping, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return static_cast<std::byte*>(mapping);
}

int move_mapping(std::byte* source, std::int64_t bytes, std::byte* target) {
  const auto size = static_cast<std::size_t>(bytes);
  return ::mremap(source, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED ? errno
                                                                                           : 0;
}

int move_pages(std::byte* source, std::int64_t bytes, std::byte* target) {
  const auto size = static_cast<std::size_t>(bytes);
  constexpr int kMoveFlags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (::mremap(source, size, size, kMoveFlags, target) == MAP_FAILED) return errno;
  return ::mprotect(source, size, PROT_NONE) == 0 ? 0 : errno;
}

void unmap(std::byte* address, std::int64_t bytes) {
  ::munmap(address, static_cast<std::size_t>(bytes));
}

}  // namespace tutti::lms
