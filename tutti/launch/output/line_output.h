// Bytes of many ranks as lines that do not mix.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "tutti/core/clock.h"

namespace tutti::launch {

// One stream of one rank. Complete lines are passed on at once. The beginning of a line is held
// until the line is complete, for 0.2 s, or until it exceeds 64 KiB; what follows of such a long
// line is passed on as it arrives.
class LineOutput {
 public:
  using Sink = std::function<void(std::string_view)>;

  // `tag` is put before every line.
  LineOutput(std::string tag, Sink sink) : tag_(std::move(tag)), sink_(std::move(sink)) {}

  void add(std::string_view text);
  // Passes on what was held long enough, or everything.
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

// The last lines of a rank, for the message about its end.
class LastLines {
 public:
  void add(std::string_view text);
  // Indented, each with its newline.
  std::string text() const;

 private:
  static constexpr std::size_t kMost = 10, kLongest = 400;
  std::deque<std::string> lines_;
  bool is_inside_line_ = false;
};

}  // namespace tutti::launch
