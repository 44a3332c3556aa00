// A CUDA driver in host memory, for tests on machines without a GPU.
//
// Device memory is memfds that are mapped to reserved addresses. Streams run nothing by themselves: an operation runs
// when its event or stream is synchronized, one per query of an event. A missing dependency therefore shows as wrong
// content.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "tutti/lms/pager/cuda/driver_api.h"

namespace tutti::lms::cuda {

struct StreamTag {
  std::deque<std::function<void()>> operations;
  std::int64_t launched = 0, done = 0;

  void launch(std::function<void()> operation) {
    operations.push_back(std::move(operation));
    ++launched;
  }
  void run_one() {
    const std::function<void()> operation = std::move(operations.front());
    operations.pop_front();
    operation();
    ++done;
  }
  void run_until(std::int64_t count) {
    while (done < count) run_one();
  }
};

struct EventTag {
  StreamTag* stream = nullptr;
  std::int64_t position = 0;
};

namespace {

constexpr std::size_t kGranularity = 2 << 20;
constexpr Result kInvalidValue = 1;

struct FakeDevice {
  std::recursive_mutex mutex;
  StreamTag kernels;  // the default stream
  std::size_t capacity = SIZE_MAX, used = 0;
  std::map<MemoryHandle, std::size_t> allocations;  // size by handle, a descriptor
};

FakeDevice& device() {
  static FakeDevice device;
  return device;
}

StreamTag& stream_of(Stream stream) {
  return stream ? *stream : device().kernels;
}

Result map_nothing(DevicePointer address, std::size_t bytes, int extra_flags) {
  void* const mapping = ::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra_flags, -1, 0);
  return mapping == MAP_FAILED ? kOutOfMemory : kSuccess;
}

}  // namespace

extern "C" {

// For tests: launches an operation, sets the memory of the device, and returns the memory in use.
void fake_launch(Stream stream, void (*kernel)(void*), void* argument) {
  const std::scoped_lock lock(device().mutex);
  stream_of(stream).launch([=] { kernel(argument); });
}
void fake_set_capacity(std::size_t bytes) {
  device().capacity = bytes;
}
std::size_t fake_used() {
  return device().used;
}

// NOLINTBEGIN(readability-identifier-naming): names of the CUDA driver API
Result cuInit(unsigned) {
  return kSuccess;
}
Result cuGetErrorString(Result result, const char** text) {
  *text = result == kOutOfMemory ? "out of memory" : "invalid argument";
  return kSuccess;
}
Result cuDeviceGet(Device* handle, int ordinal) {
  *handle = ordinal;
  return ordinal == 0 ? kSuccess : kInvalidValue;
}
Result cuDevicePrimaryCtxRetain(Context* context, Device) {
  *context = nullptr;
  return kSuccess;
}
Result cuCtxSetCurrent(Context) {
  return kSuccess;
}

Result cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties*, int) {
  *bytes = kGranularity;
  return kSuccess;
}
Result cuMemAddressReserve(DevicePointer* address, std::size_t bytes, std::size_t, DevicePointer,
                           unsigned long long) {
  if (bytes % kGranularity != 0) return kInvalidValue;
  void* const mapping = ::mmap(nullptr, bytes + kGranularity, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return kOutOfMemory;
  *address =
      (reinterpret_cast<DevicePointer>(mapping) + kGranularity - 1) / kGranularity * kGranularity;
  return kSuccess;
}
Result cuMemAddressFree(DevicePointer address, std::size_t bytes) {
  return ::munmap(reinterpret_cast<void*>(address), bytes) == 0 ? kSuccess : kInvalidValue;
}
Result cuMemCreate(MemoryHandle* handle, std::size_t bytes, const AllocationProperties*,
                   unsigned long long) {
  const std::scoped_lock lock(device().mutex);
  if (bytes % kGranularity != 0) return kInvalidValue;
  if (bytes > device().capacity - device().used) return kOutOfMemory;
  const int file = ::memfd_create("fake-device", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
  *handle = static_cast<MemoryHandle>(file);
  device().allocations[*handle] = bytes;
  device().used += bytes;
  return kSuccess;
}
Result cuMemRelease(MemoryHandle handle) {
  const std::scoped_lock lock(device().mutex);
  device().used -= device().allocations.extract(handle).mapped();
  return ::close(static_cast<int>(handle)) == 0 ? kSuccess : kInvalidValue;
}
Result cuMemMap(DevicePointer address, std::size_t bytes, std::size_t offset, MemoryHandle handle,
                unsigned long long) {
  void* const mapping =
      ::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
             static_cast<int>(handle), static_cast<off_t>(offset));
  return mapping == MAP_FAILED ? kInvalidValue : kSuccess;
}
Result cuMemUnmap(DevicePointer address, std::size_t bytes) {
  return map_nothing(address, bytes, MAP_FIXED);
}
Result cuMemSetAccess(DevicePointer address, std::size_t bytes, const AccessDescription*,
                      std::size_t) {
  return ::mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) == 0
             ? kSuccess
             : kInvalidValue;
}
Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return *memory == MAP_FAILED ? kOutOfMemory : kSuccess;
}
Result cuMemFreeHost(void*) {
  return kSuccess;  // the size is not known; tests are short
}

Result cuMemcpyDtoHAsync_v2(void* target, DevicePointer source, std::size_t bytes, Stream stream) {
  const std::scoped_lock lock(device().mutex);
  stream_of(stream).launch(
      [=] { std::memcpy(target, reinterpret_cast<const void*>(source), bytes); });
  return kSuccess;
}
Result cuMemcpyHtoDAsync_v2(DevicePointer target, const void* source, std::size_t bytes,
                            Stream stream) {
  const std::scoped_lock lock(device().mutex);
  stream_of(stream).launch([=] { std::memcpy(reinterpret_cast<void*>(target), source, bytes); });
  return kSuccess;
}

Result cuStreamCreate(Stream* stream, unsigned) {
  *stream = new StreamTag;
  return kSuccess;
}
Result cuStreamDestroy_v2(Stream stream) {
  delete stream;
  return kSuccess;
}
Result cuStreamSynchronize(Stream stream) {
  const std::scoped_lock lock(device().mutex);
  stream_of(stream).run_until(stream_of(stream).launched);
  return kSuccess;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  const std::scoped_lock lock(device().mutex);
  const EventTag awaited = *event;
  stream_of(stream).launch([awaited] { awaited.stream->run_until(awaited.position); });
  return kSuccess;
}

Result cuEventCreate(Event* event, unsigned) {
  *event = new EventTag;
  return kSuccess;
}
Result cuEventDestroy_v2(Event event) {
  delete event;
  return kSuccess;
}
Result cuEventRecord(Event event, Stream stream) {
  const std::scoped_lock lock(device().mutex);
  *event = {&stream_of(stream), stream_of(stream).launched};
  return kSuccess;
}
Result cuEventQuery(Event event) {
  const std::scoped_lock lock(device().mutex);
  if (event->stream->done < event->position) event->stream->run_one();
  return event->stream->done < event->position ? kNotReady : kSuccess;
}
Result cuEventSynchronize(Event event) {
  const std::scoped_lock lock(device().mutex);
  event->stream->run_until(event->position);
  return kSuccess;
}
// NOLINTEND(readability-identifier-naming)

}  // extern "C"

}  // namespace tutti::lms::cuda
