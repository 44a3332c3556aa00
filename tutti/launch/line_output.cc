#include "tutti/launch/line_output.h"

#include <algorithm>

namespace tutti::launch {
namespace {

constexpr double kPatience = 0.2;

}  // namespace

// Progress bars end their lines with a carriage return.
void LineOutput::add(std::string_view text) {
  if (waiting_.empty()) since_.restart();
  waiting_ += text;
  const std::size_t end = waiting_.find_last_of("\n\r");
  if (end == waiting_.npos) return;
  const std::string whole = waiting_.substr(0, end + 1);
  waiting_.erase(0, end + 1);
  since_.restart();
  emit(whole);
}

void LineOutput::flush(bool everything) {
  if (waiting_.empty() || (!everything && since_.seconds() < kPatience)) return;
  emit(waiting_);
  waiting_.clear();
}

void LineOutput::emit(std::string_view text) {
  if (tag_.empty()) return sink_(text);
  std::string tagged;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (!is_inside_line_) tagged += tag_;
    tagged += text.substr(begin, end - begin);
    is_inside_line_ = tagged.back() != '\n';
    begin = end;
  }
  sink_(tagged);
}

void LastLines::add(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view piece = text.substr(begin, end == text.npos ? text.npos : end - begin);
    if (!is_inside_line_) lines_.emplace_back();
    if (lines_.back().size() < kLongest) lines_.back() += piece.substr(0, kLongest);
    is_inside_line_ = end == text.npos;
    if (lines_.size() > kMost) lines_.pop_front();
    begin = is_inside_line_ ? text.size() : end + 1;
  }
}

std::string LastLines::text() const {
  std::string out;
  for (const std::string& line : lines_) {
    // What a carriage return has overwritten is not seen either.
    const std::size_t begin = line.find_last_of('\r');
    out += "    " + (begin == line.npos ? line : line.substr(begin + 1)) + "\n";
  }
  return out;
}

}  // namespace tutti::launch
