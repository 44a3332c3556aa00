// The job of a Python process: its communicator, a fusion engine for all ranks, and one for each process set.
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
  // Collective. A second `begin` has no effect.
  void begin(const std::string& options);
  // Collective: waits for the other ranks, see ~Engine. Has no effect before `begin` and in forked children.
  void end();
  bool is_running() const;

  // Shared pointers, so operations in flight in other threads survive `end`. Throw ConfigError DDL-4-60 before `begin`.
  std::shared_ptr<comm::Communicator> world() const;
  std::shared_ptr<fusion::Engine> engine(int process_set) const;

  // Creates a process set with these ranks. Collective over all ranks of the job. Other ranks have no engine for it.
  int add_process_set(const std::vector<int>& ranks);
  void remove_process_set(int id);
  std::map<int, std::vector<int>> process_sets() const;

 private:
  struct ProcessSet {
    std::vector<int> ranks;
    std::shared_ptr<comm::Communicator> communicator;  // nullptr: this rank is not a member
    std::shared_ptr<fusion::Engine> engine;
  };
  mutable Mutex mutex_;
  pid_t process_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<comm::Communicator> world_ TUTTI_GUARDED_BY(mutex_);
  std::map<int, ProcessSet> sets_ TUTTI_GUARDED_BY(mutex_);  // 0: all ranks
  int next_set_ TUTTI_GUARDED_BY(mutex_) = 1;
};

// The job of this process. Never destroyed: a process that exits without `end` does not wait for its peers.
Job& job();

}  // namespace tutti::python
