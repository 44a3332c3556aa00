// SIGINT and SIGTERM as a request to stop in order: Ctrl-C, or the time limit of a scheduler.
#pragma once

namespace tutti::train {

// While an object exists, the first of these signals is only recorded; the next one kills the process, as usual. With
// `prints_message`, the first signal prints a message on stderr at once, because a step may take minutes. At most one
// object at a time.
class StopSignal {
 public:
  explicit StopSignal(bool prints_message = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool stop_requested() const;
};

}  // namespace tutti::train
