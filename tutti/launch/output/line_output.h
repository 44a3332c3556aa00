// Line-buffered output of many ranks, so lines do not mix.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "tutti/core/clock.h"

namespace tutti::launch {

// One stream of one rank. Complete lines are passed on at once. An incomplete line is held until it is complete, for
// 0.2 s, or until it exceeds 64 KiB; the rest of such a long line is passed on as it arrives.
class LineOutput {
 public:
  using Sink = std::function<void(std::string_view)>;

  // `tag` is prepended to every line.
  LineOutput(std::string tag, Sink sink) : tag_(std::move(tag)), sink_(std::move(sink)) {}

  void add(std::string_view text);
  // Passes on lines that were held long enough, or everything.
  void flush(bool everything);
  bool is_waiting() const { return !held_.empty(); }

 private:
  static constexpr std::size_t kMostHeld = 1 << 16;
  void emit(std::string_view text);
  void emit_held();

  std::string tag_;
  Sink sink_;
  std::string held_;
  Stopwatch since_;
  bool is_inside_line_ = false;
};

// Last lines of a rank, for the error message.
class LastLines {
 public:
  void add(std::string_view text);
  // Indented, each with a trailing newline.
  std::string text() const;

 private:
  static constexpr std::size_t kMost = 10, kLongest = 400;
  std::deque<std::string> lines_;
  bool is_inside_line_ = false;
};

}  // namespace tutti::launch
