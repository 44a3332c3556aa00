// Decides how long a communicator's rank may wait: notices the dead, the lost and the mistaken, and
// names them.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tutti/comm/internal/job.h"
#include "tutti/comm/patience.h"
#include "tutti/comm/transport/shm/host_group.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

class Watch : public Patience {
 public:
  Watch(Job& job, int rank, const topo::Layout& layout);
  // The ranks of this host; set once, before the first wait.
  void set_host(const HostGroup* host) { host_ = host; }
  // A new operation begins: its stall has not been reported.
  void begin(const OpRecord& record);

  Result ask(int rank, std::int64_t waited) override;

 private:
  Result check_member(int member) const;
  void report_stall(int rank, std::int64_t waited);
  std::string describe(int rank) const;
  std::string host_of(int rank) const;

  Job& job_;
  const int rank_;
  const topo::Layout& layout_;
  const HostGroup* host_ = nullptr;
  const std::int64_t timeout_ns_;
  const std::int64_t stall_ns_;
  OpRecord record_;
  std::int64_t next_report_ns_ = 0;
};

}  // namespace tutti::comm
