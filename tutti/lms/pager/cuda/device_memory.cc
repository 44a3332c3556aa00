#include "tutti/lms/pager/cuda/device_memory.h"

#include <cerrno>

namespace tutti::lms::cuda {
namespace {

DevicePointer pointer(std::byte* address) {
  return reinterpret_cast<DevicePointer>(address);
}

}  // namespace

DeviceMemory::DeviceMemory(const Driver& driver, Stream stream) : driver_(driver), stream_(stream) {
  properties_.location.id = driver.device();
  std::size_t bytes = 0;
  driver.check(driver.api().MemGetAllocationGranularity(&bytes, &properties_, 0),
               "query device memory");
  granularity_ = static_cast<std::int64_t>(bytes);
}

DeviceMemory::~DeviceMemory() {
  while (!mappings_.empty()) discard(mappings_.begin()->first, mappings_.begin()->second.bytes);
  if (reservation_.address)
    driver_.api().MemAddressFree(pointer(reservation_.address),
                                 static_cast<std::size_t>(reservation_.bytes));
}

Reservation DeviceMemory::reserve(std::int64_t most, std::int64_t least) {
  Result result = kOutOfMemory;
  for (std::int64_t bytes = most; bytes >= least; bytes /= 2) {
    bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
    DevicePointer address = 0;
    result =
        driver_.api().MemAddressReserve(&address, static_cast<std::size_t>(bytes), kHugePage, 0, 0);
    if (result == kSuccess) return reservation_ = {reinterpret_cast<std::byte*>(address), bytes};
    if (bytes == granularity_) break;
  }
  driver_.check(result, "reserve device addresses");
  return {};
}

void DeviceMemory::supply(std::byte* address, std::int64_t bytes) {
  driver_.enter();
  MemoryHandle handle = 0;
  driver_.check(driver_.api().MemCreate(&handle, static_cast<std::size_t>(bytes), &properties_, 0),
                "allocate device memory");
  const Result result = map(address, {handle, bytes});
  if (result != kSuccess) driver_.api().MemRelease(handle);
  driver_.check(result, "map device memory");
}

Result DeviceMemory::map(std::byte* address, Mapping mapping) {
  const auto size = static_cast<std::size_t>(mapping.bytes);
  if (const Result result = driver_.api().MemMap(pointer(address), size, 0, mapping.handle, 0);
      result != kSuccess)
    return result;
  const AccessDescription access{properties_.location};
  const Result result = driver_.api().MemSetAccess(pointer(address), size, &access, 1);
  if (result != kSuccess) {
    driver_.api().MemUnmap(pointer(address), size);
    return result;
  }
  mappings_[address] = mapping;
  return kSuccess;
}

void DeviceMemory::synchronize() {
  driver_.enter();
  driver_.check(driver_.api().StreamSynchronize(stream_), "wait for the kernels of the device");
}

void DeviceMemory::discard(std::byte* address, std::int64_t bytes) {
  driver_.enter();
  const auto found = mappings_.find(address);
  if (found == mappings_.end()) return;
  driver_.api().MemUnmap(pointer(address), static_cast<std::size_t>(bytes));
  driver_.api().MemRelease(found->second.handle);
  mappings_.erase(found);
}

std::byte* DeviceMemory::map_temporary(std::int64_t bytes) {
  driver_.enter();
  DevicePointer address = 0;
  const auto size = static_cast<std::size_t>(bytes);
  driver_.check(driver_.api().MemAddressReserve(&address, size, 0, 0, 0),
                "reserve device addresses");
  auto* const memory = reinterpret_cast<std::byte*>(address);
  try {
    supply(memory, bytes);
  } catch (...) {
    driver_.api().MemAddressFree(address, size);
    throw;
  }
  return memory;
}

void DeviceMemory::unmap_temporary(std::byte* address, std::int64_t bytes) {
  discard(address, bytes);
  driver_.api().MemAddressFree(pointer(address), static_cast<std::size_t>(bytes));
}

int DeviceMemory::move_temporary(std::byte* source, std::int64_t bytes, std::byte* target) {
  const int error = move(source, bytes, target);
  if (error == 0) driver_.api().MemAddressFree(pointer(source), static_cast<std::size_t>(bytes));
  return error;
}

int DeviceMemory::move(std::byte* source, std::int64_t bytes, std::byte* target) {
  driver_.enter();
  const auto found = mappings_.find(source);
  if (found == mappings_.end()) return EINVAL;
  if (map(target, found->second) != kSuccess) return ENOMEM;  // mapped twice for a moment
  driver_.api().MemUnmap(pointer(source), static_cast<std::size_t>(bytes));
  mappings_.erase(found);
  return 0;
}

}  // namespace tutti::lms::cuda
