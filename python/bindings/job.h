// The one job of a Python process: its communicator, a fusion engine for all ranks, and one for
// each process set.
#pragma once

#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/core/mutex.h"
#include "tutti/fusion/engine.h"

namespace tutti::python {

class Job {
 public:
  // Collective. A second `begin` does nothing.
  void begin(const std::string& options);
  // Collective: waits for the other ranks, see ~Engine. Does nothing before `begin` and in forked
  // children.
  void end();
  bool is_running() const;

  // Shared, so that what is under way in other threads outlives `end`. Throw ConfigError DDL-4-60
  // before `begin`.
  std::shared_ptr<comm::Communicator> world() const;
  std::shared_ptr<fusion::Engine> engine(int process_set) const;

  // The ranks become process set `id`; collective over all ranks of the job. Others get no engine
  // for it.
  int add_process_set(const std::vector<int>& ranks);
  void remove_process_set(int id);
  std::map<int, std::vector<int>> process_sets() const;

 private:
  struct ProcessSet {
    std::vector<int> ranks;
    std::shared_ptr<comm::Communicator> communicator;  // none: this rank is not in it
    std::shared_ptr<fusion::Engine> engine;
  };
  mutable Mutex mutex_;
  pid_t process_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<comm::Communicator> world_ TUTTI_GUARDED_BY(mutex_);
  std::map<int, ProcessSet> sets_ TUTTI_GUARDED_BY(mutex_);  // 0: all ranks
  int next_set_ TUTTI_GUARDED_BY(mutex_) = 1;
};

// That of this process. Never destroyed: a process that ends without `end` ends as it is.
Job& job();

}  // namespace tutti::python
