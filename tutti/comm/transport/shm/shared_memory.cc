#include "tutti/comm/transport/shm/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>

#include "tutti/comm/transport/shm/internal/anonymous_file.h"
#include "tutti/core/mutex.h"
#include "tutti/core/rounded_bytes.h"
#include "tutti/os/memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// Layout of the file: the data, rounded up to full pages, then one page that starts with the nonce.
//
// Fork: mappings are shared, so a forked child (a DataLoader worker) can read and write the memory of its parent;
// MADV_DONTFORK would turn every access to a tensor there into a segmentation fault. The child must not release pages,
// because its copies of the objects are destroyed while the parent still uses the pages. `release` therefore works only
// in the creating process. Destroying the child's copy only unmaps the child's view.
namespace tutti::comm {
namespace {

// Memory left to the host when everything else is reserved, for example for page tables.
constexpr std::int64_t kHeadroom = 64 << 20;
// Bytes reserved at a time, so ranks that reserve concurrently see each other's allocations.
constexpr std::size_t kReserveBytes = 256 << 20;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

std::string refusal(std::size_t bytes, const std::string& why) {
  return fmt::format(
      "Cannot allocate {} of shared memory: {}. Free: {}. Use smaller buffers or fewer ranks on "
      "this host, end other programs, or raise the container's limit.",
      rounded_bytes(static_cast<std::int64_t>(bytes)), why, os::free_memory().text());
}

std::uint64_t random_nonce() {
  std::uint64_t nonce = 0;
  while (nonce == 0) {
    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) nonce = 0;
  }
  return nonce;
}

// All mappings of this process by nonce, because thread-ranks share one mapping. Never destroyed, because memory may
// outlive every static object.
struct Table {
  Mutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<SharedMemory>> memories TUTTI_GUARDED_BY(mutex);
};
Table& table() {
  static Table& only = *new Table;
  return only;
}

std::byte* map(int file, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, bytes, MADV_HUGEPAGE);  // a hint; kernels without huge shared pages refuse
  return static_cast<std::byte*>(data);
}

// Opens the file of a handle. Returns -1 with errno set on failure. The descriptor may belong to an unrelated process,
// on this host or in this container, so only a regular file of the right size with the right nonce is accepted.
int open_file_of(const MemoryHandle& handle, std::size_t data_bytes, std::size_t file_bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.pid, handle.fd);
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return -1;
  errno = ENXIO;
  if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) != file_bytes) return -1;
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return -1;
  std::uint64_t nonce = 0;
  const ssize_t got = pread(file, &nonce, sizeof nonce, static_cast<off_t>(data_bytes));
  if (got == sizeof nonce && nonce == handle.nonce) return file;
  close(file);
  errno = ENXIO;
  return -1;
}

Result unreachable(const MemoryHandle& handle, int error) {
  const char* why = error == ENXIO ? "it holds other memory" : std::strerror(error);
  return Result::failure(ErrorKind::kMemory, "DDL-5-03",
                         fmt::format("The shared memory of process {} cannot be opened from here: "
                                     "{}. Ranks share memory when they run on "
                                     "one host, in one container, as one user.",
                                     handle.pid, why));
}

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t bytes) {
  const auto fail = [&](int error) {
    throw MemoryError("DDL-5-01", refusal(bytes, std::strerror(error)));
  };
  if (bytes > SIZE_MAX / 4) fail(EFBIG);
  std::shared_ptr<SharedMemory> memory(new SharedMemory);
  memory->handle_.fd = internal::open_anonymous_file();
  if (memory->handle_.fd < 0) fail(errno);
  memory->is_owner_ = true;  // from here on the destructor cleans up
  const std::size_t data_bytes = whole_pages(bytes);
  const std::size_t file_bytes = data_bytes + page_bytes();
  if (ftruncate(memory->handle_.fd, static_cast<off_t>(file_bytes)) != 0) fail(errno);
  memory->handle_.pid = getpid();
  memory->handle_.nonce = random_nonce();
  memory->handle_.bytes = bytes;
  // pwrite instead of a store to the mapping: on a full host it returns an error instead of raising SIGBUS.
  if (pwrite(memory->handle_.fd, &memory->handle_.nonce, sizeof(std::uint64_t),
             static_cast<off_t>(data_bytes)) != sizeof(std::uint64_t)) {
    fail(errno);
  }
  memory->data_ = map(memory->handle_.fd, file_bytes);
  if (!memory->data_) fail(errno);
  memory->mapped_bytes_ = file_bytes;
  const MutexLock lock(table().mutex);
  table().memories[memory->handle_.nonce] = memory;
  return memory;
}

Result SharedMemory::open(const MemoryHandle& handle, std::shared_ptr<SharedMemory>* memory) {
  std::shared_ptr<SharedMemory>
      opened;  // outlives the lock, because the destructor of another memory takes it too
  const MutexLock lock(table().mutex);
  const auto known = table().memories.find(handle.nonce);
  if (known != table().memories.end()) opened = known->second.lock();
  if (!opened || opened->handle_.bytes != handle.bytes) {
    const bool is_sane = handle.pid > 0 && handle.fd >= 0 && handle.bytes <= SIZE_MAX / 4;
    if (!is_sane) return unreachable(handle, EINVAL);
    const std::size_t data_bytes = whole_pages(handle.bytes);
    const std::size_t file_bytes = data_bytes + page_bytes();
    const int file = open_file_of(handle, data_bytes, file_bytes);
    if (file < 0) return unreachable(handle, errno);
    std::byte* data = map(file, file_bytes);
    const int error = errno;
    close(file);
    if (!data) return unreachable(handle, error);
    opened.reset(new SharedMemory);
    opened->handle_ = handle;
    opened->data_ = data;
    opened->mapped_bytes_ = file_bytes;
    table().memories[handle.nonce] = opened;
  }
  memory->swap(opened);
  return Result::ok();
}

SharedMemory::~SharedMemory() {
  if (data_) {
    munmap(data_, mapped_bytes_);
    const MutexLock lock(table().mutex);
    const auto known = table().memories.find(handle_.nonce);
    if (known != table().memories.end() && known->second.expired()) table().memories.erase(known);
  }
  if (is_owner_) close(handle_.fd);
}

Result SharedMemory::reserve(std::size_t offset, std::size_t bytes) {
  const auto failure = [&](const std::string& why) {
    return Result::failure(ErrorKind::kMemory, "DDL-5-02", refusal(bytes, why));
  };
  if (bytes == 0) return Result::ok();
  if (offset > handle_.bytes || bytes > handle_.bytes - offset) return failure("out of range");
  const std::size_t end = whole_pages(offset + bytes);
  for (std::size_t at = offset / page_bytes() * page_bytes(); at < end; at += kReserveBytes) {
    // Compares the entire remainder, so a request that cannot succeed fails before it has allocated anything.
    const auto free = os::free_memory().bytes() - kHeadroom;
    if (static_cast<std::int64_t>(end - at) > free) return failure("not enough is free");
    const std::size_t part = std::min(kReserveBytes, end - at);
    // Touching the pages through the mapping also avoids page faults later, and may allocate huge pages.
    if (madvise(data_ + at, part, MADV_POPULATE_WRITE) == 0) continue;
    int error = errno;
    if (error == EINVAL && is_owner_) {  // kernel before 5.14
      error = posix_fallocate(handle_.fd, static_cast<off_t>(at), static_cast<off_t>(part));
    }
    if (error == EFAULT) return failure("the file system behind it is full");
    if (error != 0) return failure(std::strerror(error));
  }
  return Result::ok();
}

void SharedMemory::release(std::size_t offset, std::size_t bytes) {
  if (getpid() != handle_.pid) return;  // forked child, see above
  const std::size_t begin = whole_pages(offset);
  const std::size_t end = std::min(offset + bytes, handle_.bytes) / page_bytes() * page_bytes();
  if (begin < end) madvise(data_ + begin, end - begin, MADV_REMOVE);
}

}  // namespace tutti::comm
