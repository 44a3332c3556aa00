// One line on standard error that says where long work is; silent when standard error is no
// terminal.
#pragma once

#include <string_view>

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
  bool is_shown_;
};

}  // namespace tutti::bench
