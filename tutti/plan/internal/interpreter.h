// Interpreter behind verify(): the memory of all ranks, and one cooperative thread per lane.
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

// A defect in the plans. Thrown by the interpreter and caught by verify().
struct Problem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string describe(const Step& step);

// Input, output and scratch memory of one rank in one address space. For in-place operations input and output overlap.
struct Memory {
  std::vector<Symbol> cells;
  std::int64_t input = 0, output = 0, scratch = 0;

  std::int64_t address(const Range& range) const;
};

// Returns the memory of the plan's rank with its input initialised.
Memory make_memory(const Plan& plan, const Request& request, bool in_place);

struct MemoryKind {
  std::size_t element_bytes = 4;
  bool is_library = true;
};

// Executes the plans of all ranks on symbolic values.
//
// Each lane of each rank is a Thread with a program counter (`next`). run() visits the threads in random order and
// tries to execute one step of each until all have finished:
// - local steps and mapped accesses (copy, read_mapped, reduce_mapped, reduce_local) run at once;
// - an exchange is posted and completes when both peers have reached the matching message and its sizes agree;
// - a group step (host_barrier, leader_reduce, leader_broadcast, vendor, host_all_reduce) runs when all members have
//   reached it.
// A full round without progress is a deadlock; the report lists the step at which each thread is blocked. Each access
// is checked against the bounds of the range and the lane, and recorded with the vector clock of its thread.
// RaceDetector then reports conflicting accesses that no message or host barrier orders. Clocks are also used to check
// that no rank leaves a barrier early.
class Interpreter {
 public:
  Interpreter(const topo::Grid& grid, const std::vector<Plan>& plans, std::vector<Memory> memories,
              const MemoryKind& kind, Report& report);
  // Runs until all threads have finished. Throws Problem at the first defect.
  void run(unsigned seed);
  const std::vector<Memory>& memories() const { return memories_; }

 private:
  struct Thread {
    int rank = 0, lane = 0;
    std::size_t next = 0;  // index of the next step
    bool is_posted = false, has_sent = false, has_received = false;
    std::vector<Symbol> arrived;
    int time = 0, end = 0;
    std::shared_ptr<const Clock> known;
    std::shared_ptr<const Clock> learned;  // clock of the sender of the received data
  };

  Thread* thread_at(int rank, int lane);
  const Step* step_of(const Thread& thread) const;
  bool try_step(Thread& thread, const Step& step);
  bool try_exchange(Thread& thread, const Step& step);
  bool try_group_step(Thread& thread, const Step& step);
  bool transfer(Thread& from, Thread& to);
  void finish_exchange(Thread& thread, const Step& step);
  void copy(Thread& thread, const Step& step, int from);
  void reduce_mapped(Thread& thread, const Step& step);
  void reduce_local(Thread& thread, const Step& step);
  void run_leader_step(const std::vector<Thread*>& members);
  void run_vendor(const std::vector<Thread*>& members);
  void run_on_host(const std::vector<Thread*>& members);
  void reduce_privately(const std::vector<Thread*>& members, HostProtocol protocol);
  void check_barrier() const;
  void advance(Thread& thread, std::shared_ptr<const Clock> learned);
  // Checks that the range exists, is inside the lane and is accessible to the thread; records the access.
  Symbol* access(const Thread& thread, int owner, const Range& range, bool is_write);
  [[noreturn]] void fail(const Thread& thread, const std::string& what) const;
  [[noreturn]] void report_deadlock() const;

  const std::vector<Plan>& plans_;
  std::vector<Memory> memories_;
  const std::size_t element_bytes_;
  const bool is_library_memory_;
  Report& report_;
  std::vector<int> host_of_;
  std::vector<Thread> threads_;  // lanes of rank 0, then lanes of rank 1, ...
  int lanes_ = 0;
  bool keeps_clocks_ = false;  // for race detection and the barrier check
  RaceDetector races_;
};

}  // namespace tutti::plan::internal
