#include "tutti/lms/pager/cuda/pinned_slabs.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "tutti/io/file_queue.h"

namespace tutti::lms::cuda {
namespace {

constexpr std::int64_t kSlabBytes = std::int64_t{256} << 20;

}  // namespace

PinnedSlabs::PinnedSlabs(const Driver& driver, Stream stream) : driver_(driver), kernels_(stream) {
  driver.enter();
  driver.check(driver.api().StreamCreate(&writes_, kNonBlockingStream), "create a stream");
  driver.check(driver.api().StreamCreate(&reads_, kNonBlockingStream), "create a stream");
}

PinnedSlabs::~PinnedSlabs() {
  const DriverApi& api = driver_.api();
  for (Stream stream : {writes_, reads_}) {
    api.StreamSynchronize(stream);
    api.StreamDestroy(stream);
  }
  for (auto& [start, slab] : slabs_) api.MemFreeHost(slab.memory);
}

BackingStore::Extent PinnedSlabs::allocate(std::int64_t bytes) {
  bytes = (bytes + io::kIoAlignment - 1) / io::kIoAlignment * io::kIoAlignment;
  for (auto& [start, slab] : slabs_)
    if (const auto offset = slab.ranges.take(bytes)) return {start + *offset, bytes};
  const std::int64_t start = end_;
  return {start + *add_slab(std::max(bytes, kSlabBytes)).ranges.take(bytes), bytes};
}

PinnedSlabs::Slab& PinnedSlabs::add_slab(std::int64_t bytes) {
  driver_.enter();
  void* memory = nullptr;
  driver_.check(driver_.api().MemHostAlloc(&memory, static_cast<std::size_t>(bytes), 0),
                "allocate pinned host memory");
  Slab& slab = slabs_.emplace(end_, Slab{static_cast<std::byte*>(memory)}).first->second;
  slab.ranges.extend(bytes);
  end_ += bytes;
  return slab;
}

void PinnedSlabs::free(Extent& extent) {
  if (!extent.exists()) return;
  const auto slab = std::prev(slabs_.upper_bound(extent.offset));
  slab->second.ranges.give_back(extent.offset - slab->first, extent.bytes);
  extent = {};
}

std::byte* PinnedSlabs::memory_at(std::int64_t offset) {
  const auto slab = std::prev(slabs_.upper_bound(offset));
  return slab->second.memory + (offset - slab->first);
}

PinnedSlabs::EventHandle PinnedSlabs::new_event() const {
  Event event = nullptr;
  driver_.check(driver_.api().EventCreate(&event, kEventWithoutTiming), "create an event");
  return {event, [&api = driver_.api()](Event handle) { api.EventDestroy(handle); }};
}

// An event that occurs when the work launched on `stream` so far is complete.
PinnedSlabs::EventHandle PinnedSlabs::record(Stream stream) const {
  EventHandle event = new_event();
  driver_.check(driver_.api().EventRecord(event.get(), stream), "record an event");
  return event;
}

template <typename Start>
void PinnedSlabs::launch(std::int64_t id, Stream stream, Start&& start) {
  const Result result = start();
  EventHandle done = record(stream);
  const MutexLock lock(mutex_);
  copies_[id] = {std::move(done), result};
}

void PinnedSlabs::start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                              const std::byte* source) {
  driver_.enter();
  const EventHandle launched = record(kernels_);
  driver_.check(driver_.api().StreamWaitEvent(writes_, launched.get(), 0), "wait for an event");
  launch(id, writes_, [&] {
    return driver_.api().MemcpyDtoHAsync(memory_at(offset), reinterpret_cast<DevicePointer>(source),
                                         static_cast<std::size_t>(bytes), writes_);
  });
}

void PinnedSlabs::start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                             std::byte* target) {
  driver_.enter();
  launch(id, reads_, [&] {
    return driver_.api().MemcpyHtoDAsync(reinterpret_cast<DevicePointer>(target), memory_at(offset),
                                         static_cast<std::size_t>(bytes), reads_);
  });
}

PinnedSlabs::EventHandle PinnedSlabs::event_of(std::int64_t id) {
  const MutexLock lock(mutex_);
  const auto found = copies_.find(id);
  return found == copies_.end() ? nullptr : found->second.done;
}

bool PinnedSlabs::is_done(std::int64_t id) {
  const EventHandle event = event_of(id);
  return !event || driver_.api().EventQuery(event.get()) != kNotReady;
}

void PinnedSlabs::wait(std::int64_t id) {
  const EventHandle event = event_of(id);
  if (!event) return;
  driver_.enter();
  driver_.api().EventSynchronize(event.get());
}

int PinnedSlabs::result(std::int64_t id) {
  const EventHandle event = event_of(id);
  if (!event) return 0;
  const Result outcome = driver_.api().EventQuery(event.get());
  const MutexLock lock(mutex_);
  const auto copy = copies_.extract(id);
  return copy.mapped().result == kSuccess && outcome == kSuccess ? 0 : EIO;
}

}  // namespace tutti::lms::cuda
