#include "tutti/lms/pager/cuda/driver_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "tutti/core/error.h"

namespace tutti::lms::cuda {
namespace {

[[noreturn]] void throw_unavailable(const std::string& reason) {
  throw ConfigError("DDL-5-78",
                    fmt::format("CUDA is not available: {}. Install the driver of the GPU, or use "
                                "large model support on the CPU.",
                                reason));
}

// Name of the function in the library. Functions whose signature changed have the suffix _v2.
template <typename Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (!function) throw_unavailable(fmt::format("the driver lacks the function {}", name));
}

DriverApi find_all(void* library) {
  DriverApi api = {};
  find(library, "cuInit", api.Init);
  find(library, "cuGetErrorString", api.GetErrorString);
  find(library, "cuDeviceGet", api.DeviceGet);
  find(library, "cuDevicePrimaryCtxRetain", api.DevicePrimaryCtxRetain);
  find(library, "cuCtxSetCurrent", api.CtxSetCurrent);
  find(library, "cuMemGetAllocationGranularity", api.MemGetAllocationGranularity);
  find(library, "cuMemAddressReserve", api.MemAddressReserve);
  find(library, "cuMemAddressFree", api.MemAddressFree);
  find(library, "cuMemCreate", api.MemCreate);
  find(library, "cuMemRelease", api.MemRelease);
  find(library, "cuMemMap", api.MemMap);
  find(library, "cuMemUnmap", api.MemUnmap);
  find(library, "cuMemSetAccess", api.MemSetAccess);
  find(library, "cuMemHostAlloc", api.MemHostAlloc);
  find(library, "cuMemFreeHost", api.MemFreeHost);
  find(library, "cuMemcpyDtoHAsync_v2", api.MemcpyDtoHAsync);
  find(library, "cuMemcpyHtoDAsync_v2", api.MemcpyHtoDAsync);
  find(library, "cuStreamCreate", api.StreamCreate);
  find(library, "cuStreamDestroy_v2", api.StreamDestroy);
  find(library, "cuStreamSynchronize", api.StreamSynchronize);
  find(library, "cuStreamWaitEvent", api.StreamWaitEvent);
  find(library, "cuEventCreate", api.EventCreate);
  find(library, "cuEventDestroy_v2", api.EventDestroy);
  find(library, "cuEventRecord", api.EventRecord);
  find(library, "cuEventQuery", api.EventQuery);
  find(library, "cuEventSynchronize", api.EventSynchronize);
  return api;
}

}  // namespace

Driver::Driver(const std::string& library, int device)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL),
               [](void* handle) { handle ? ::dlclose(handle) : 0; }),
      device_(device) {
  if (!library_) throw_unavailable(::dlerror());
  api_ = find_all(library_.get());
  Device handle = 0;
  if (api_.Init(0) != kSuccess || api_.DeviceGet(&handle, device) != kSuccess ||
      api_.DevicePrimaryCtxRetain(&context_, handle) != kSuccess)
    throw_unavailable(fmt::format("device {} cannot be used", device));
  device_ = handle;
  enter();
}

void Driver::enter() const {
  check(api_.CtxSetCurrent(context_), "use the device");
}

void Driver::check(Result result, const char* action) const {
  if (result == kSuccess) return;
  const char* text = nullptr;
  api_.GetErrorString(result, &text);
  throw MemoryError("DDL-5-79",
                    fmt::format("Cannot {}: {} (CUDA error {}). Lower the budget if other programs "
                                "use the device.",
                                action, text ? text : "unknown error", result));
}

}  // namespace tutti::lms::cuda
