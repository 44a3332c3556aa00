// The functions of the CUDA driver that the device tier uses, found at run time.
//
// libcuda.so.1 has a stable C ABI, so the declarations here replace the CUDA headers: the library is built without CUDA
// and works where the driver is installed. A test compares them with cuda.h where the headers are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tutti::lms::cuda {

using Result = int;  // CUresult
using Device = int;
using DevicePointer = unsigned long long;
using MemoryHandle = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;

inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
inline constexpr unsigned kNonBlockingStream = 1, kEventWithoutTiming = 2;

struct Location {
  int type = 1;  // a device
  int id = 0;
};

struct AllocationProperties {
  int type = 1;  // pinned
  int handle_types = 0;
  Location location;
  void* windows_metadata = nullptr;
  unsigned char compression = 0, rdma = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};

struct AccessDescription {
  Location location;
  int flags = 3;  // read and write
};

// Members are named as in the driver, without the prefix cu.
struct DriverApi {
  Result (*Init)(unsigned flags);
  Result (*GetErrorString)(Result, const char** text);
  Result (*DeviceGet)(Device*, int ordinal);
  Result (*DevicePrimaryCtxRetain)(Context*, Device);
  Result (*CtxSetCurrent)(Context);
  Result (*MemGetAllocationGranularity)(std::size_t*, const AllocationProperties*, int option);
  Result (*MemAddressReserve)(DevicePointer*, std::size_t bytes, std::size_t alignment,
                              DevicePointer hint, unsigned long long flags);
  Result (*MemAddressFree)(DevicePointer, std::size_t bytes);
  Result (*MemCreate)(MemoryHandle*, std::size_t bytes, const AllocationProperties*,
                      unsigned long long flags);
  Result (*MemRelease)(MemoryHandle);
  Result (*MemMap)(DevicePointer, std::size_t bytes, std::size_t offset, MemoryHandle,
                   unsigned long long flags);
  Result (*MemUnmap)(DevicePointer, std::size_t bytes);
  Result (*MemSetAccess)(DevicePointer, std::size_t bytes, const AccessDescription*,
                         std::size_t count);
  Result (*MemHostAlloc)(void**, std::size_t bytes, unsigned flags);
  Result (*MemFreeHost)(void*);
  Result (*MemcpyDtoHAsync)(void*, DevicePointer, std::size_t bytes, Stream);
  Result (*MemcpyHtoDAsync)(DevicePointer, const void*, std::size_t bytes, Stream);
  Result (*StreamCreate)(Stream*, unsigned flags);
  Result (*StreamDestroy)(Stream);
  Result (*StreamSynchronize)(Stream);
  Result (*StreamWaitEvent)(Stream, Event, unsigned flags);
  Result (*EventCreate)(Event*, unsigned flags);
  Result (*EventDestroy)(Event);
  Result (*EventRecord)(Event, Stream);
  Result (*EventQuery)(Event);
  Result (*EventSynchronize)(Event);
};

// The driver with the primary context of one device, which is also that of the CUDA runtime and of libtorch.
class Driver {
 public:
  // `library`: path or name of the driver library. Throws ConfigError (DDL-5-78) if it or the device is not available.
  explicit Driver(const std::string& library = "libcuda.so.1", int device = 0);

  const DriverApi& api() const { return api_; }
  int device() const { return device_; }
  // Makes the context current on the calling thread. Every other function of the driver requires that.
  void enter() const;
  // Throws MemoryError (DDL-5-79) unless `result` is kSuccess. `action`: "map device memory".
  void check(Result result, const char* action) const;

 private:
  std::shared_ptr<void> library_;
  DriverApi api_ = {};
  int device_;
  Context context_ = nullptr;
};

}  // namespace tutti::lms::cuda
