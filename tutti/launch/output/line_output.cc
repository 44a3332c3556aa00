#include "tutti/launch/output/line_output.h"

#include <algorithm>
#include <cstring>

namespace tutti::launch {
namespace {

constexpr double kHoldSeconds = 0.2;

// Number of bytes up to the last newline or carriage return; progress bars end their lines with the latter.
std::size_t bytes_of_lines(std::string_view text) {
  const auto last = [&](char end) {
    const void* const found = ::memrchr(text.data(), end, text.size());
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1 : 0;
  };
  return std::max(last('\n'), last('\r'));
}

}  // namespace

void LineOutput::add(std::string_view text) {
  const std::size_t lines = bytes_of_lines(text);
  if (lines > 0) {
    emit_held();
    emit(text.substr(0, lines));
    text.remove_prefix(lines);
  }
  if (text.empty()) return;
  if (held_.size() + text.size() > kMostHeld) {
    emit_held();
    return emit(text);
  }
  if (held_.empty()) since_.restart();
  held_ += text;
}

void LineOutput::flush(bool everything) {
  if (everything || since_.seconds() >= kHoldSeconds) emit_held();
}

void LineOutput::emit_held() {
  if (held_.empty()) return;
  emit(held_);
  held_.clear();
}

void LineOutput::emit(std::string_view text) {
  if (tag_.empty()) return sink_(text);
  std::string tagged;
  tagged.reserve(text.size() + text.size() / 4);
  while (!text.empty()) {
    const std::size_t line = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!is_inside_line_) tagged += tag_;
    tagged += text.substr(0, line);
    is_inside_line_ = tagged.back() != '\n';
    text.remove_prefix(line);
  }
  sink_(tagged);
}

void LastLines::add(std::string_view text) {
  // Only the end of a long text matters.
  std::size_t begin = text.size();
  for (std::size_t i = 0; i <= kMost && begin > 0; ++i) {
    const void* const end = ::memrchr(text.data(), '\n', begin - 1);
    begin = end ? static_cast<std::size_t>(static_cast<const char*>(end) - text.data()) + 1 : 0;
  }
  if (begin > 0) {
    is_inside_line_ = false;
    text.remove_prefix(begin);
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!is_inside_line_) lines_.emplace_back();
    std::string& line = lines_.back();
    line += text.substr(0, std::min(end, kLongest - std::min(line.size(), kLongest)));
    is_inside_line_ = end == text.size();
    if (lines_.size() > kMost) lines_.pop_front();
    text.remove_prefix(is_inside_line_ ? end : end + 1);
  }
}

std::string LastLines::text() const {
  std::string out;
  for (const std::string& line : lines_) {
    // Text overwritten by a carriage return is omitted.
    const std::size_t begin = line.find_last_of('\r');
    out += "    " + (begin == line.npos ? line : line.substr(begin + 1)) + "\n";
  }
  return out;
}

}  // namespace tutti::launch
