// Where long work is, on standard error: one line that changes on a terminal, elsewhere a line of
// its own now and then.
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

  // "[ 3/40] 4MiB openmpi", in place of the line before.
  void step(std::string_view what);
  // Takes the line away, so that something else can be printed.
  void clear();

 private:
  int steps_, done_ = 0;
  bool is_terminal_;
  Stopwatch since_told_;
};

}  // namespace tutti::bench
