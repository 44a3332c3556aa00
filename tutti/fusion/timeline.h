// Timeline: a trace of all tensors on all ranks, as one file for Perfetto or chrome://tracing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/core/mutex.h"

namespace tutti::fusion {

// Each rank is one process in the trace. Its rows are the tensors waiting for other ranks or for execution, and the
// thread that reduces. Thread-safe; no overhead while disabled.
class Timeline {
 public:
  enum class Row : std::uint8_t { kTensors, kReduction };

  void start(const std::string& file);
  bool is_on() const;
  // `begin` and `end`: times of now_ns().
  void add(Row row, const std::string& name, const std::string& tensor, std::int64_t begin,
           std::int64_t end);
  // Collective if any rank is recording: rank 0 writes the file with the events of all ranks. A common barrier aligns
  // the clocks of the hosts. Throws IoError on rank 0 if the file cannot be written.
  void write(comm::Communicator& communicator);
  // For failed jobs: writes only this rank's events, to `<file>.rank<r>`.
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
  std::string file_ TUTTI_GUARDED_BY(mutex_);  // empty: disabled
  std::vector<Span> spans_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::fusion
