// Memory of a CUDA device, whose blocks keep their address while their memory comes and goes.
//
// The virtual memory functions of the driver are used as mmap is in host memory: an address range is reserved once,
// physical memory is created per block, mapped to its address, and released when the block is out. Content that returns
// from the store is copied to memory at a temporary address first, and that memory is then mapped to the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "tutti/lms/pager/block_memory.h"
#include "tutti/lms/pager/cuda/driver_api.h"

namespace tutti::lms::cuda {

class DeviceMemory final : public BlockMemory {
 public:
  // `stream`: the stream of the kernels that use the blocks. The driver must outlive this object.
  DeviceMemory(const Driver& driver, Stream stream);
  ~DeviceMemory() override;

  std::int64_t granularity() const override { return granularity_; }
  bool is_host() const override { return false; }
  Reservation reserve(std::int64_t most, std::int64_t least) override;
  void supply(std::byte* address, std::int64_t bytes) override;
  void set_writable(std::byte*, std::int64_t, bool) override {}
  void synchronize() override;
  void discard(std::byte* address, std::int64_t bytes) override;
  std::byte* map_temporary(std::int64_t bytes) override;
  void unmap_temporary(std::byte* address, std::int64_t bytes) override;
  int move_temporary(std::byte* source, std::int64_t bytes, std::byte* target) override;
  int move(std::byte* source, std::int64_t bytes, std::byte* target) override;

 private:
  struct Mapping {
    MemoryHandle handle;
    std::int64_t bytes;
  };

  Result map(std::byte* address, Mapping mapping);

  const Driver& driver_;
  const Stream stream_;
  AllocationProperties properties_;
  std::int64_t granularity_ = 0;
  Reservation reservation_ = {};
  std::map<std::byte*, Mapping> mappings_;  // by address
};

}  // namespace tutti::lms::cuda
