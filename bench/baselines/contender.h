// Interface of a measured system: its all-reduce and its memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace tutti::bench {

// Page-aligned private memory, as an allocator returns it for large tensors.
class PlainMemory {
 public:
  explicit PlainMemory(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~PlainMemory() { munmap(data_, bytes_); }
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;
  float* data() const { return static_cast<float*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

// A system that the workers measure. Not thread-safe.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // The timed operation: sum over all ranks, in place.
  virtual void all_reduce(float* data, std::size_t count) = 0;

  // Returns the buffer to measure on; the previous one of the same kind is no longer used. `memory` is "caller"
  // (private memory of the process) or "library" (library-allocated), if supported.
  virtual float* allocate(const std::string& memory, std::size_t bytes) {
    if (memory != "caller") throw std::invalid_argument("unsupported kind of memory: " + memory);
    plain_.reset();
    plain_ = std::make_unique<PlainMemory>(bytes);
    return plain_->data();
  }

  // Barrier over all ranks.
  virtual void barrier() {
    float one = 1;
    all_reduce(&one, 1);
  }

  // Whether all_reduce computes a sum; if not, results are not checked.
  virtual bool reduces() const { return true; }

 private:
  std::unique_ptr<PlainMemory> plain_;
};

}  // namespace tutti::bench
