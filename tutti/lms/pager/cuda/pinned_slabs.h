// Store of blocks of device memory: slabs of pinned host memory, filled and read by two side streams.
//
// A write waits for the kernels that were launched before it: it records an event on the stream of the kernels, and the
// stream of writes waits for this event, then copies. A read copies at once, because its target is not in use. An event
// after each copy tells when it is complete. Slabs are kept, so pinned memory is allocated in the first steps only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tutti/core/mutex.h"
#include "tutti/lms/pager/backing_store.h"
#include "tutti/lms/pager/cuda/driver_api.h"
#include "tutti/lms/pager/ranges.h"

namespace tutti::lms::cuda {

class PinnedSlabs final : public BackingStore {
 public:
  // `stream`: the stream of the kernels that use the blocks. The driver must outlive this object. Throws MemoryError
  // (DDL-5-79).
  PinnedSlabs(const Driver& driver, Stream stream);
  // Waits for the transfers in flight.
  ~PinnedSlabs() override;

  // Throws MemoryError (DDL-5-79) if the host has no memory.
  Extent allocate(std::int64_t bytes) override;
  void free(Extent& extent) override;
  void start_write(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                   const std::byte* source) override;
  void start_read(std::int64_t id, std::int64_t offset, std::int64_t bytes,
                  std::byte* target) override;
  bool is_done(std::int64_t id) override;
  void wait(std::int64_t id) override;
  // 0, or EIO if the driver refused the copy.
  int result(std::int64_t id) override;
  std::string name() const override { return "pinned host memory"; }

 private:
  using EventHandle = std::shared_ptr<std::remove_pointer_t<Event>>;
  struct Slab {
    std::byte* memory;
    Ranges ranges{0};
  };
  struct Copy {
    EventHandle done;
    Result result;
  };

  Slab& add_slab(std::int64_t bytes);
  std::byte* memory_at(std::int64_t offset);
  EventHandle new_event() const;
  EventHandle record(Stream stream) const;
  // Runs `start`, which launches a copy on `stream`, and remembers the transfer.
  template <typename Start>
  void launch(std::int64_t id, Stream stream, Start&& start);
  EventHandle event_of(std::int64_t id);

  const Driver& driver_;
  const Stream kernels_;
  Stream writes_ = nullptr, reads_ = nullptr;
  std::map<std::int64_t, Slab> slabs_;  // by the offset at which they start
  std::int64_t end_ = 0;                // offset of the next slab
  Mutex mutex_;
  std::map<std::int64_t, Copy> copies_ TUTTI_GUARDED_BY(mutex_);  // by id
};

}  // namespace tutti::lms::cuda
