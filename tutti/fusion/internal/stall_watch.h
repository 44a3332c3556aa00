// Detection of tensors that some ranks do not submit, and of ranks that do not shut down.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

// Not thread-safe. Times are in nanoseconds.
class StallWatch {
 public:
  StallWatch(Negotiator& negotiator, const TreePosition& position, std::int64_t stall,
             std::int64_t timeout)
      : negotiator_(negotiator), position_(position), stall_(stall), timeout_(timeout) {}

  // True if the next check is due.
  bool is_due(std::int64_t now);
  // Warns about tensors that have waited longer than the stall limit (DDL-4-72). On the root, returns the failures of
  // tensors that have exceeded the timeout (DDL-4-73).
  std::vector<DownMessage::Failure> look(std::int64_t now);
  // Warns if the shutdown takes long (DDL-4-06). There is no time limit, because another rank may still be saving its
  // model. Throws TimeoutError (DDL-4-77) only after a tensor has timed out: the rank that did not submit it may never
  // shut down.
  void look_at_end(std::int64_t now);
  void note_leaving(std::int64_t now);
  void note_timeout() { has_timed_out_ = true; }

 private:
  Negotiator& negotiator_;
  const TreePosition& position_;
  const std::int64_t stall_, timeout_;
  std::int64_t next_look_ = 0;
  std::int64_t leaving_since_ = 0;  // 0: not leaving
  std::int64_t next_end_report_ = stall_;
  bool has_timed_out_ = false;
};

}  // namespace tutti::fusion
