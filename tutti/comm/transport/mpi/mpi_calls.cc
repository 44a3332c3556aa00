#include "tutti/comm/transport/mpi/mpi_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"

namespace tutti::comm {

std::mutex MpiCalls::mutex_;
std::atomic<bool> MpiCalls::is_serial_ = false;

std::unique_lock<std::mutex> MpiCalls::guard() {
  return is_serial_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

std::unique_lock<std::mutex> MpiCalls::try_guard(bool* entered) {
  if (!is_serial_) {
    *entered = true;
    return {};
  }
  std::unique_lock lock(mutex_, std::try_to_lock);
  *entered = lock.owns_lock();
  return lock;
}

void MpiCalls::set_thread_level(int level) {
  is_serial_ = level < MPI_THREAD_MULTIPLE;
  if (level >= MPI_THREAD_SERIALIZED) return;
  log::warning(
      "MPI allows calls from its main thread only; asynchronous operations make them from "
      "others, one at a time. Initialise it with MPI_THREAD_MULTIPLE.");
}

Result mpi_result(int code, const char* call) {
  if (code == MPI_SUCCESS) return Result::ok();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Result::failure(
      ErrorKind::kComm, "DDL-6-11",
      fmt::format("{} failed: {}. A peer has ended, or its connection broke. Read its message.",
                  call, std::string_view(text, static_cast<std::size_t>(length))));
}

bool wait_politely(const std::function<bool()>& is_over, double seconds) {
  const Stopwatch watch;
  for (int polls = 0; !is_over(); ++polls) {
    if (seconds >= 0 && watch.seconds() > seconds) return false;
    // Few yields: if ranks share cores, each yield runs all other waiting ranks.
    if (polls < 50) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(polls, 1000)));
    }
  }
  return true;
}

}  // namespace tutti::comm
