// Detection of forked children.
#pragma once

#include <cstdint>

namespace tutti::comm {

// A forked child has a copy of a communicator without the threads behind it, and shares sockets,
// flags and control blocks with its parent: one call of it could corrupt the job or hang. So
// objects that belong to one process keep a guard and refuse calls, and their destructors do
// nothing in the child.
class ForkGuard {
 public:
  static constexpr const char* kCode = "DDL-4-65";
  static constexpr const char* kMessage =
      "A forked child cannot use the job of its parent: call the library in the parent only, or "
      "start workers with 'spawn' or 'forkserver'.";

  ForkGuard();
  // Whether this process was forked from the one that made the guard. Costs one load.
  bool is_child() const;
  // Throws ConfigError DDL-4-65 in a child.
  void require_parent() const;

 private:
  std::uint64_t generation_;
};

}  // namespace tutti::comm
