// Compared at compile time with the headers of CUDA: the declarations of driver_api.h. Not part of the library.
#include <cuda.h>

#include <type_traits>

#include "tutti/lms/pager/cuda/driver_api.h"

namespace tutti::lms::cuda {
namespace {

// Parameters of two functions correspond if their types have the same size and kind.
template <typename Ours, typename Theirs>
constexpr bool kCorresponds =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <typename... Ours, typename... Theirs>
constexpr bool corresponds(Result (*)(Ours...), CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs))
    return (kCorresponds<Ours, Theirs> && ...);
  else
    return false;
}

// cuda.h defines names with the suffix _v2 as macros, so these are the functions that driver_api.cc looks up.
#define CHECK_FUNCTION(name) \
  static_assert(corresponds(decltype(DriverApi::name){}, decltype(&cu##name){}))
CHECK_FUNCTION(Init);
CHECK_FUNCTION(GetErrorString);
CHECK_FUNCTION(DeviceGet);
CHECK_FUNCTION(DevicePrimaryCtxRetain);
CHECK_FUNCTION(CtxSetCurrent);
CHECK_FUNCTION(MemGetAllocationGranularity);
CHECK_FUNCTION(MemAddressReserve);
CHECK_FUNCTION(MemAddressFree);
CHECK_FUNCTION(MemCreate);
CHECK_FUNCTION(MemRelease);
CHECK_FUNCTION(MemMap);
CHECK_FUNCTION(MemUnmap);
CHECK_FUNCTION(MemSetAccess);
CHECK_FUNCTION(MemHostAlloc);
CHECK_FUNCTION(MemFreeHost);
CHECK_FUNCTION(StreamCreate);
CHECK_FUNCTION(StreamSynchronize);
CHECK_FUNCTION(StreamWaitEvent);
CHECK_FUNCTION(EventCreate);
CHECK_FUNCTION(EventRecord);
CHECK_FUNCTION(EventQuery);
CHECK_FUNCTION(EventSynchronize);
#undef CHECK_FUNCTION
static_assert(corresponds(decltype(DriverApi::MemcpyDtoHAsync){},
                          decltype(&cuMemcpyDtoHAsync_v2){}));
static_assert(corresponds(decltype(DriverApi::MemcpyHtoDAsync){},
                          decltype(&cuMemcpyHtoDAsync_v2){}));
static_assert(corresponds(decltype(DriverApi::StreamDestroy){}, decltype(&cuStreamDestroy_v2){}));
static_assert(corresponds(decltype(DriverApi::EventDestroy){}, decltype(&cuEventDestroy_v2){}));

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr) &&
              sizeof(MemoryHandle) == sizeof(CUmemGenericAllocationHandle));
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp) &&
              offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location) &&
              offsetof(AllocationProperties, windows_metadata) ==
                  offsetof(CUmemAllocationProp, win32HandleMetaData) &&
              offsetof(AllocationProperties, compression) ==
                  offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc) &&
              offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
              Location{}.type == CU_MEM_LOCATION_TYPE_DEVICE &&
              AccessDescription{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(kSuccess == CUDA_SUCCESS && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              kNotReady == CUDA_ERROR_NOT_READY && kNonBlockingStream == CU_STREAM_NON_BLOCKING &&
              kEventWithoutTiming == CU_EVENT_DISABLE_TIMING);

}  // namespace
}  // namespace tutti::lms::cuda
