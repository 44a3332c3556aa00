#include "bench/harness/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tutti::bench {
namespace {

constexpr double kSecondsBetweenLines = 20;  // if not on a terminal

}  // namespace

Progress::Progress(int steps) : steps_(steps), is_terminal_(isatty(2)) {}

Progress::~Progress() {
  clear();
}

void Progress::step(std::string_view what) {
  ++done_;
  if (is_terminal_) {
    fmt::print(stderr, "\r\033[K[{}/{}] {}", done_, steps_, what);
  } else if (since_printed_.seconds() >= kSecondsBetweenLines) {
    fmt::print(stderr, "[{}/{}] {}\n", done_, steps_, what);
    since_printed_.restart();
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (is_terminal_) fmt::print(stderr, "\r\033[K");
}

}  // namespace tutti::bench
