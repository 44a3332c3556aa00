// Wire protocol between ddlrun and the agents of its ranks.
//
// An agent connects and authenticates (tutti/auth). Then both ends send frames: one byte kind, four
// bytes length, body. Integers are little-endian.
//
//   agent                        ddlrun
//   kHello            ->
//                     <-         kWelcome            both streams have `window` bytes of credit
//   kOutput, kErrors  ->                             at most as many bytes as there is credit
//                     <-         kCredit             after the bytes have been received
//   kExit             ->                             at once, also without credit
//   kDone             ->                             all output has been sent
//                     <-         closes the connection; the agent exits
//
// ddlrun always reads. If its own output is not consumed, it withholds credit, and the program blocks in write(). A
// stalled consumer therefore never delays a kExit, a kStop or the detection of a dead host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::launch {

// Authentication context of the handshake.
inline constexpr std::string_view kAgentPurpose = "ddlrun agent";

// Agent to ddlrun:
inline constexpr char kHello = 'H';   // Hello
inline constexpr char kOutput = 'O';  // bytes written to standard output
inline constexpr char kErrors = 'E';  // bytes written to standard error
inline constexpr char kExit = 'X';    // Exit
inline constexpr char kDone = 'D';    // empty
// ddlrun to agent:
inline constexpr char kWelcome = 'W';  // Welcome
inline constexpr char kCredit = 'C';   // Credit
inline constexpr char kStop = 'S';     // empty: end the program and all its descendants

inline constexpr std::size_t kFrameHeaderBytes = 5;

// Capacity of the program's pipes. ddlrun grants this much extra credit when the program has exited, so the agent can
// deliver the rest and exit even if nothing consumes the output.
inline constexpr std::uint32_t kPipeBytes = 256 << 10;

struct Hello {
  int rank = 0;
  int process = 0;
  std::int64_t clock_ns = 0;  // monotonic clock of the agent's host
  std::string boot_id = {};   // equal for processes that share this clock
};

struct Welcome {
  bool is_terminal = false;  // standard output of the program shall be a terminal
  int rows = 0, columns = 0;
  std::uint32_t window = 0;
  std::string cpus = {};  // CPUs to run on, "0-3"; empty: unchanged
};

struct Credit {
  char stream = kOutput;  // or kErrors
  std::uint32_t bytes = 0;
};

struct Exit {
  int code = 0, signal = 0;
  std::int64_t clock_ns = 0;  // time at which the agent noticed it
  bool was_stopped = false;   // the program had been asked to end
};

std::string encode(char kind, std::string_view body = "");
std::string encode(const Hello& hello);
std::string encode(const Welcome& welcome);
std::string encode(const Credit& credit);
std::string encode(const Exit& exit);
// Writes the header of a frame of `length` bytes to `to`, which has room for kFrameHeaderBytes.
void encode_header(char kind, std::uint32_t length, char* to);

// Return nullopt unless the body has exactly the format that encode() writes.
std::optional<Hello> decode_hello(std::string_view body);
std::optional<Welcome> decode_welcome(std::string_view body);
std::optional<Credit> decode_credit(std::string_view body);
std::optional<Exit> decode_exit(std::string_view body);

// Splits a byte stream into frames. Output is passed on in the pieces in which it arrives, so memory does not depend on
// the length of frames or lines. All other frames are short.
class FrameReader {
 public:
  // Calls `take(kind, bytes)` for each piece of output and for each other frame once it is complete. `take` returns
  // true to continue. Returns false if `take` did, or if `bytes` violate the protocol; later calls then read nothing.
  template <class Take>
  bool read(std::string_view bytes, Take take) {
    while (!is_broken_ && (!bytes.empty() || is_complete())) {
      if (header_.size() < kFrameHeaderBytes) {
        take_header(&bytes);
        continue;
      }
      const std::string_view piece = bytes.substr(0, missing_);
      bytes.remove_prefix(piece.size());
      missing_ -= static_cast<std::uint32_t>(piece.size());
      const char kind = header_[0];
      if (!is_output(kind)) body_ += piece;
      if (missing_ == 0) header_.clear();
      if (is_output(kind) && !piece.empty()) is_broken_ = !take(kind, piece);
      if (!is_output(kind) && missing_ == 0) is_broken_ = !take(kind, std::string_view(body_));
    }
    return !is_broken_;
  }

 private:
  static constexpr std::uint32_t kLongestControl = 1 << 16;
  static bool is_output(char kind) { return kind == kOutput || kind == kErrors; }
  bool is_complete() const { return header_.size() == kFrameHeaderBytes && missing_ == 0; }
  void take_header(std::string_view* bytes);

  std::string header_, body_;
  std::uint32_t missing_ = 0;  // bytes left of the current frame
  bool is_broken_ = false;
};

}  // namespace tutti::launch
