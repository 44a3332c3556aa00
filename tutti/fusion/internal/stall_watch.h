// Reports of tensors that some ranks do not submit, and of an end that some do not reach.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

// For one thread. Times are nanoseconds.
class StallWatch {
 public:
  StallWatch(Negotiator& negotiator, const TreePosition& place, std::int64_t stall,
             std::int64_t timeout)
      : negotiator_(negotiator), place_(place), stall_(stall), timeout_(timeout) {}

  // Whether it is time to look again.
  bool is_due(std::int64_t now);
  // Warns of tensors that have waited for long (DDL-4-72). On the root, returns the failures of
  // those that have waited for too long (DDL-4-73).
  std::vector<DownMessage::Failure> look(std::int64_t now);
  // Warns when the end of this rank's part takes long (DDL-4-06). There is no time limit: another
  // rank may save its model before it ends. Only after a tensor has timed out TimeoutError
  // (DDL-4-77) is thrown: the rank that did not submit it is not waited for.
  void look_at_end(std::int64_t now);
  void note_leaving(std::int64_t now);
  void note_timeout() { has_timed_out_ = true; }

 private:
  Negotiator& negotiator_;
  const TreePosition& place_;
  const std::int64_t stall_, timeout_;
  std::int64_t next_look_ = 0;
  std::int64_t leaving_since_ = 0;  // 0: not leaving
  std::int64_t next_end_report_ = stall_;
  bool has_timed_out_ = false;
};

}  // namespace tutti::fusion
