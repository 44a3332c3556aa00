// SIGINT and SIGTERM as a wish that work can end in order: Ctrl-C, or a scheduler whose time is up.
#pragma once

namespace tutti::train {

// While it lives, the first of these signals is only remembered; the next one ends the process, as
// both did before. With `is_told`, the first is answered on stderr at once: a step may take
// minutes. One at a time.
class StopSignal {
 public:
  explicit StopSignal(bool announces = false);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool stop_requested() const;
};

}  // namespace tutti::train
