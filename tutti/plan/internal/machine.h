// The interpreter of verify.h: all ranks' memory, and their lanes as threads that take turns.
#pragma once

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tutti/plan/internal/races.h"
#include "tutti/plan/internal/symbol.h"
#include "tutti/plan/plan.h"
#include "tutti/plan/verify_report.h"
#include "tutti/topo/grid.h"

namespace tutti::plan::internal {

// What is wrong with the plans; caught by verify.
struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string describe(const Step& step);

// Input, output and scratch of one rank in one row of addresses; in place they overlap.
struct Memory {
  std::vector<Symbol> cells;
  std::int64_t input = 0, output = 0, scratch = 0;

  std::int64_t address(const Range& range) const;
};

// The memory of `plan`'s rank, its input filled in.
Memory make_memory(const Plan& plan, const Request& request, bool in_place);

struct MemoryKind {
  std::size_t element_bytes = 4;
  bool is_library = true;
};

class Machine {
 public:
  Machine(const topo::Grid& grid, const std::vector<Plan>& plans, std::vector<Memory> memories,
          const MemoryKind& kind, Report& report);
  // Until all threads are through; throws Problem.
  void run(unsigned seed);
  const std::vector<Memory>& memories() const { return memories_; }

 private:
  struct Thread {
    int rank = 0, lane = 0;
    std::size_t next = 0;  // step
    bool is_posted = false, has_sent = false, has_received = false;
    std::vector<Symbol> arrived;
    int time = 0, end = 0;
    std::shared_ptr<const Clock> known;
    std::shared_ptr<const Clock> learned;  // by what arrived
  };

  Thread* thread_at(int rank, int lane);
  const Step* step_of(const Thread& thread) const;
  bool try_step(Thread& thread, const Step& step);
  bool try_exchange(Thread& thread, const Step& step);
  bool try_meeting(Thread& thread, const Step& step);
  bool transfer(Thread& from, Thread& to);
  void finish_exchange(Thread& thread, const Step& step);
  void copy(Thread& thread, const Step& step, int from);
  void reduce_mapped(Thread& thread, const Step& step);
  void reduce_local(Thread& thread, const Step& step);
  void pass_slots(const std::vector<Thread*>& members);
  void run_vendor(const std::vector<Thread*>& members);
  void run_on_host(const std::vector<Thread*>& members);
  void fold_privately(const std::vector<Thread*>& members, HostProtocol protocol);
  void check_barrier() const;
  void advance(Thread& thread, std::shared_ptr<const Clock> learned);
  // Checks that the range exists, lies in the lane, and may be reached; notes the access.
  Symbol* access(const Thread& thread, int owner, const Range& range, bool is_write);
  [[noreturn]] void fail(const Thread& thread, const std::string& what) const;
  [[noreturn]] void report_deadlock() const;

  const topo::Grid& grid_;
  const std::vector<Plan>& plans_;
  std::vector<Memory> memories_;
  const std::size_t element_bytes_;
  const bool is_library_memory_;
  Report& report_;
  std::vector<int> host_of_;
  std::vector<Thread> threads_;  // lanes of rank 0, of rank 1, ...
  int lanes_ = 0;
  bool keeps_clocks_ = false;  // to find races, and who leaves a barrier early
  RaceFinder races_;
};

}  // namespace tutti::plan::internal
