// Progress of long work on standard error: one line that is overwritten on a terminal, elsewhere a line at intervals.
#pragma once

#include <string_view>

#include "tutti/core/clock.h"

namespace tutti::bench {

class Progress {
 public:
  explicit Progress(int steps);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "[ 3/40] 4MiB openmpi", instead of the previous line.
  void step(std::string_view what);
  // Erases the line before other output.
  void clear();

 private:
  int steps_, done_ = 0;
  bool is_terminal_;
  Stopwatch since_printed_;
};

}  // namespace tutti::bench
