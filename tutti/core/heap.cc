#include "tutti/core/heap.h"

#include <malloc.h>

#include <mutex>

namespace tutti {

void trim_heap() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  malloc_trim(0);
}

}  // namespace tutti
