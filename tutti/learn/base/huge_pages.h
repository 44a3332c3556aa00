// Huge pages for large arrays: fewer page faults and fewer TLB misses.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stop_token>
#include <utility>
#include <vector>

namespace tutti::learn {

// Advises the kernel to back memory that has not been touched yet by huge pages (MADV_HUGEPAGE). Only a hint.
inline void prefer_huge_pages(void* data, std::size_t bytes) {
  constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) & ~(kHugePage - 1);
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

// Reserves memory for `count` values, in huge pages if it is large enough. `values` must be empty.
template <class T>
void reserve_large(std::vector<T>& values, std::size_t count) {
  values.reserve(count);
  prefer_huge_pages(values.data(), count * sizeof(T));
}

// Anonymous mapping that is aligned to huge pages and unmapped by the destructor. Memory freed to the heap may stay in
// the resident set of the process, which memory limits count; this does not. The constructor throws std::bad_alloc.
class HugePages {
 public:
  HugePages() = default;
  explicit HugePages(std::size_t bytes) : size_(bytes), mapped_(bytes + kPage) {
    void* address =
        ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    start_ = static_cast<std::byte*>(address);
    const auto unaligned = reinterpret_cast<std::uintptr_t>(address);
    data_ = start_ + ((unaligned + kPage - 1) / kPage * kPage - unaligned);
    prefer_huge_pages(data_, size_);
  }
  ~HugePages() {
    if (start_ != nullptr) ::munmap(start_, mapped_);
  }
  HugePages(HugePages&& other) noexcept
      : size_(other.size_),
        mapped_(other.mapped_),
        start_(std::exchange(other.start_, nullptr)),
        data_(std::exchange(other.data_, nullptr)) {}
  HugePages& operator=(HugePages&&) = delete;

  std::byte* data() const { return data_; }
  // Populates the pages, last ones first, until `stop` is requested. On kernels without MADV_POPULATE_WRITE it has no
  // effect, and the first write to a page faults it in.
  void populate(const std::stop_token& stop) const {
    for (std::size_t end = size_; end > 0 && !stop.stop_requested();) {
      const std::size_t begin = (end - 1) / kPage * kPage;
      ::madvise(data_ + begin, end - begin, MADV_POPULATE_WRITE);
      end = begin;
    }
  }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
  std::size_t size_ = 0, mapped_ = 0;
  std::byte *start_ = nullptr, *data_ = nullptr;
};

}  // namespace tutti::learn
