// Helpers for calling MPI: serialization if MPI is not thread-safe, and conversion of errors.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <functional>
#include <mutex>

#include "tutti/core/result.h"

namespace tutti::comm {

// MPI exists once per process; so does this lock.
class MpiCalls {
 public:
  // Must be held around every MPI call. Empty if MPI was initialized with MPI_THREAD_MULTIPLE.
  static std::unique_lock<std::mutex> guard();
  // Like `guard`, but does not block if another thread is inside MPI: the call may be made only if `*entered` is true.
  static std::unique_lock<std::mutex> try_guard(bool* entered);
  // `level`: result of MPI_Query_thread.
  static void set_thread_level(int level);

 private:
  static std::mutex mutex_;
  static std::atomic<bool> is_serial_;
};

// Returns failure DDL-6-11 with the MPI error string unless `code` is MPI_SUCCESS.
Result mpi_result(int code, const char* call);

// Polls until `is_over` returns true, with growing pauses that leave the cores to working ranks. Returns false after
// `seconds`; negative: no limit.
bool wait_politely(const std::function<bool()>& is_over, double seconds = -1);

}  // namespace tutti::comm
