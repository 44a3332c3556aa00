// Detection of forked children.
#pragma once

#include <cstdint>

namespace tutti::comm {

// Rejects calls on an object that was inherited through fork().
//
// A forked child has a copy of the communicator without its threads, and shares sockets, flags and control blocks with
// the parent. A single call from the child could corrupt the job or hang. Objects that belong to one process therefore
// hold a guard and reject calls from a child; in a child their destructors do nothing. Callable from any thread.
class ForkGuard {
 public:
  static constexpr const char* kCode = "DDL-4-65";
  static constexpr const char* kMessage =
      "A forked child cannot use the job of its parent: call the library in the parent only, or "
      "start workers with 'spawn' or 'forkserver'.";

  ForkGuard();
  // Returns true in a process that was forked from the one that constructed the guard. Costs one atomic load.
  bool is_child() const;
  // Throws ConfigError DDL-4-65 in a child.
  void require_parent() const;

 private:
  std::uint64_t generation_;
};

}  // namespace tutti::comm
