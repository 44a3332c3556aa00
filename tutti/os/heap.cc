#include "tutti/os/heap.h"

#include <malloc.h>

#include <mutex>

namespace tutti::os {

void trim_heap() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  malloc_trim(0);
}

}  // namespace tutti::os
