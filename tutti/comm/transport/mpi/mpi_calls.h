// Calling MPI: from several threads when it allows, errors as results.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <functional>
#include <mutex>

#include "tutti/core/result.h"

namespace tutti::comm {

// MPI exists once per process, and so does this lock.
class MpiCalls {
 public:
  // To be held around every call of MPI. Empty when MPI itself is safe from several threads.
  static std::unique_lock<std::mutex> guard();
  // The same, but gives up when another thread is inside MPI: `*entered` says whether the call may
  // be made.
  static std::unique_lock<std::mutex> try_guard(bool* entered);
  // `level` as MPI_Query_thread tells it.
  static void set_thread_level(int level);

 private:
  static std::mutex mutex_;
  static std::atomic<bool> is_serial_;
};

// Failure DDL-6-11 with MPI's own words when `code` is not MPI_SUCCESS.
Result mpi_result(int code, const char* call);

// Polls until `is_over` returns true, with longer and longer pauses so that waiting ranks leave the
// cores to working ones. False when `seconds` passed before; negative: no limit.
bool wait_politely(const std::function<bool()>& is_over, double seconds = -1);

}  // namespace tutti::comm
