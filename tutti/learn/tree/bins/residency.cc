#include "tutti/learn/tree/bins/residency.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "tutti/core/error.h"

namespace tutti::learn::tree {
namespace {

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Returns whether `address` is in a mapped file from which its content can be read again: a shared or read-only
// mapping.
bool is_mapped_file(const void* address) {
  const auto location = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string access, offset, device;
    std::uint64_t inode = 0;
    words >> std::hex >> begin >> dash >> end >> access >> offset >> device >> std::dec >> inode;
    if (location < begin || location >= end || access.size() < 4) continue;
    return inode != 0 && (access[3] == 's' || access[1] == '-');
  }
  return false;
}

}  // namespace

// Accessing one page may also map its neighbours (fault-around), including pages that were released before.
// Therefore a release covers some of the preceding pages again. Pages still in use are mapped again on access.
void advise(const void* all, const void* begin, std::int64_t bytes, Advice advice) {
  constexpr std::uintptr_t kBehind = std::uintptr_t{4} << 20;
  const auto lowest = reinterpret_cast<std::uintptr_t>(all);
  auto start = reinterpret_cast<std::uintptr_t>(begin);
  std::uintptr_t end = start + static_cast<std::uintptr_t>(bytes);
  if (advice == Advice::kRelease) {
    start = start - lowest > kBehind ? start - kBehind : lowest;
    // The rest of the last page is about to be read.
    end = end / page_size() * page_size();
  }
  start = start / page_size() * page_size();
  if (end > start)
    madvise(reinterpret_cast<void*>(start), end - start,
            advice == Advice::kPrefetch ? MADV_WILLNEED : MADV_DONTNEED);
}

void* map_unnamed_file(const std::filesystem::path& folder, std::size_t bytes) {
  const auto fail = [&](int error) {
    throw IoError("DDL-9-26", fmt::format("{}: no space for {} bytes of binned data: {}. Set "
                                          "TMPDIR to a directory with enough space.",
                                          folder.string(), bytes, std::strerror(error)));
  };
  std::string name = (folder / "tutti-bins-XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) fail(errno);
  ::unlink(name.c_str());
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* memory =
      error != 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int map_error = errno;
  ::close(file);
  if (memory == MAP_FAILED) fail(error != 0 ? error : map_error);
  return memory;
}

MappedRows::MappedRows(const Matrix& matrix)
    : matrix_(matrix),
      values_are_mapped_(matrix.values != nullptr && is_mapped_file(matrix.values)),
      indices_are_mapped_(matrix.is_sparse() && is_mapped_file(matrix.indices)) {}

void MappedRows::advise_rows(std::int64_t begin, std::int64_t end, Advice advice) const {
  if (begin >= end || matrix_.storage == Storage::kCsc) return;
  const auto size = static_cast<std::int64_t>(size_of(matrix_.dtype));
  if (matrix_.is_sparse()) {
    const std::int64_t first = matrix_.offsets[begin], last = matrix_.offsets[end];
    if (indices_are_mapped_)
      advise(matrix_.indices, matrix_.indices + first, (last - first) * 4, advice);
    if (values_are_mapped_)
      advise(matrix_.values, static_cast<const std::byte*>(matrix_.values) + first * size,
             (last - first) * size, advice);
    return;
  }
  // Column-major storage: a row has one element per column, all in different pages.
  const bool is_by_rows = matrix_.row_stride >= matrix_.columns * matrix_.column_stride;
  const auto* values = static_cast<const std::byte*>(matrix_.values);
  for (std::int64_t c = 0; values_are_mapped_ && c < (is_by_rows ? 1 : matrix_.columns); ++c)
    advise(values, values + (begin * matrix_.row_stride + c * matrix_.column_stride) * size,
           (end - begin) * matrix_.row_stride * size, advice);
}

std::int64_t MappedRows::rows_of(std::int64_t bytes) const {
  const auto size = static_cast<std::int64_t>(size_of(matrix_.dtype));
  const std::int64_t all = matrix_.entries() * (matrix_.is_sparse() ? size + 4 : size);
  return std::max<std::int64_t>(1, bytes * matrix_.rows / std::max<std::int64_t>(1, all));
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::int64_t>(page_size());
}

}  // namespace tutti::learn::tree
