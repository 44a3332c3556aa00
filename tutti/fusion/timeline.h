// What all ranks did with each tensor and when, as one file for Perfetto or chrome://tracing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/core/mutex.h"

namespace tutti::fusion {

// Each rank is a process of the picture; its rows are the tensors that wait for other ranks or for
// their turn, and the thread that reduces. Safe from every thread; costs nothing while off.
class Timeline {
 public:
  enum class Row : std::uint8_t { kTensors, kReduction };

  void start(const std::string& file);
  bool is_on() const;
  // Times of now_ns().
  void add(Row row, const std::string& name, const std::string& tensor, std::int64_t begin,
           std::int64_t end);
  // Collective, if any rank is on: rank 0 writes the file with the events of all, the clocks of
  // other hosts set by a common barrier. Throws IoError on rank 0 when the file cannot be written.
  void write(comm::Communicator& communicator);
  // For a job that failed: only this rank's events, in `<file>.rank<r>`.
  void write_alone(int rank);

 private:
  struct Span {
    Row row;
    std::string name, tensor;
    std::int64_t begin, end;
  };
  std::string events_of(int rank, const std::string& host, std::int64_t clock_error) const
      TUTTI_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::string file_ TUTTI_GUARDED_BY(mutex_);  // empty: off
  std::vector<Span> spans_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::fusion
