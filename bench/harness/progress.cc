#include "bench/harness/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tutti::bench {

Progress::Progress(int steps) : steps_(steps), is_shown_(isatty(2)) {}

Progress::~Progress() {
  clear();
}

void Progress::step(std::string_view what) {
  ++done_;
  if (!is_shown_) return;
  fmt::print(stderr, "\r\033[K[{}/{}] {}", done_, steps_, what);
  std::fflush(stderr);
}

void Progress::clear() {
  if (is_shown_) fmt::print(stderr, "\r\033[K");
}

}  // namespace tutti::bench
