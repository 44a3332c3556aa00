// What the monitors of ranks tell each other out of band, and the one place that knows how it is
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/shm/host_control_block.h"
#include "tutti/core/result.h"

namespace tutti::comm {

// Where a rank of a communicator is. Plain bytes.
struct RankReport {
  std::int32_t rank = -1;  // of the communicator
  std::uint32_t process = 0;
  std::int64_t since_ns = 0;    // how long it has been there
  std::uint64_t completed = 0;  // the last operation that it finished
  OpRecord record;              // the operation that it is in, or was in last
  char process_state = 'R';     // see process.h
  bool is_inside = false;       // a collective
  bool has_left = false;        // it has left the communicator
  // The message that it is blocked on, if any.
  BlockedMessage::Kind message_kind = BlockedMessage::Kind::kNone;
  std::int64_t message_since_ns = 0;
  std::int64_t message_count = 0;
  std::int32_t message_peer = -1;  // -1: any rank
  std::int32_t message_tag = 0;
  DType message_dtype = DType::kU8;
  bool has_open_sends = false;  // messages of this rank are on their way
  char reserved[6] = {};

  bool is_receiving() const { return message_kind == BlockedMessage::Kind::kReceive; }

  // "is in all_reduce #812 'conv1.w' (1024 x f32, sum) for 3.1 s"
  std::string place() const;
};
static_assert(sizeof(RankReport) == 128);

struct ControlMessage {
  enum class Kind : char {
    kQuestion = 'Q',  // where are the ranks of your host?
    kReports = 'R',   // there: as an answer, or because they have left
    kFailure = 'F',   // the communicator has failed
    kDeath = 'D',     // a process has died: all its communicators have failed
  };
  Kind kind = Kind::kQuestion;
  std::int32_t communicator = 0;
  std::vector<RankReport> reports = {};
  Result failure = Result::ok();
  std::int32_t dead_rank = -1;  // of the job

  std::string to_text() const;
  // Nothing when the text is of another version of the library.
  static std::optional<ControlMessage> parse(std::string_view text);
};

}  // namespace tutti::comm
