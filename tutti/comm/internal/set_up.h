// Set-up of a communicator: the ranks determine which of them share a host and create the shared memory of each host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/internal/job.h"
#include "tutti/comm/transport/router.h"
#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {

// All calls are collective and must be made in this order. They throw if they or the job fail.
class SetUp {
 public:
  // `ranks`: transport ranks by rank of the communicator. `rank`: this rank. All arguments must outlive this object.
  SetUp(Job& job, Router& router, const std::vector<int>& ranks, int rank, int id)
      : job_(job), router_(router), ranks_(ranks), rank_(rank), id_(id) {}

  topo::Layout find_layout();
  // Also determines the routes of the job.
  topo::Grid make_grid(const topo::Layout& layout);
  std::unique_ptr<HostGroup> join_host(const topo::Layout& layout, StallHandler& stall_handler);

  // All-gathers one string per rank. Can be called at any time.
  std::vector<std::string> exchange(const std::string& mine);

 private:
  bool is_world() const { return id_ == 0; }
  void agree_on_secret();
  void join_keepalive_ring(const topo::Layout& layout, bool is_first_of_host);

  Job& job_;
  Router& router_;
  const std::vector<int>& ranks_;
  const int rank_;
  const int id_;
};

// All-gathers one string per rank of `router`, by rank. Blocks. Throws if the job fails.
std::vector<std::string> exchange_between(Job& job, Router& router, int rank, int channel,
                                          const std::string& mine);

}  // namespace tutti::comm
