// What ddlrun and the agents of its ranks say to each other over TCP: frames of a letter, a length
// and that many bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::launch {

// Agent to ddlrun:
inline constexpr char kHello = 'H';   // JSON: key, rank, process
inline constexpr char kOutput = 'O';  // what the program wrote
inline constexpr char kErrors = 'E';  // on standard error
inline constexpr char kEnd = 'X';  // JSON: code, signal, seconds ago, stopped: somebody wanted it
// ddlrun to agent:
inline constexpr char kWelcome = 'W';  // the processing units to run on, "0-3"; empty: as it is
inline constexpr char kStop = 'S';     // end the program and all it has started

struct Frame {
  char kind = 0;
  std::string body;
};

inline std::string encode(char kind, std::string_view body) {
  std::string text(1, kind);
  const auto length = static_cast<std::uint32_t>(body.size());
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(length >> shift);
  return text.append(body);
}

// Puts together what comes in pieces.
class FrameReader {
 public:
  void add(const char* data, std::size_t bytes) { waiting_.append(data, bytes); }
  // The next whole frame. One that claims to be longer than a frame can be ends the conversation:
  // is_broken().
  std::optional<Frame> next() {
    if (waiting_.size() < kHead || is_broken_) return std::nullopt;
    std::uint32_t length = 0;
    for (int i = 3; i >= 0; --i) {
      length = length << 8 | static_cast<unsigned char>(waiting_[1 + static_cast<std::size_t>(i)]);
    }
    is_broken_ = length > kLongest;
    if (is_broken_ || waiting_.size() < kHead + length) return std::nullopt;
    Frame frame{waiting_[0], waiting_.substr(kHead, length)};
    waiting_.erase(0, kHead + length);
    return frame;
  }
  bool is_broken() const { return is_broken_; }

 private:
  static constexpr std::size_t kHead = 5;
  static constexpr std::uint32_t kLongest = 1 << 20;
  std::string waiting_;
  bool is_broken_ = false;
};

}  // namespace tutti::launch
