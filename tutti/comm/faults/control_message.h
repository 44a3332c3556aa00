// Control messages that the monitors of different hosts exchange out of band, and their encoding.
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

// State of one rank of a communicator, as reported to other hosts. Sent as raw bytes.
struct RankReport {
  std::int32_t rank = -1;  // rank in the communicator
  std::uint32_t process = 0;
  std::int64_t since_ns = 0;    // time in its current state
  std::uint64_t completed = 0;  // sequence number of the last operation that it completed
  OpRecord record;              // the operation that it is in, or was in last
  char process_state = 'R';     // see pidfd.h
  bool is_inside = false;       // the rank is inside a collective
  bool has_left = false;        // the rank has left the communicator
  // Message that the rank is blocked on, if any.
  BlockedMessage::Kind message_kind = BlockedMessage::Kind::kNone;
  std::int64_t message_since_ns = 0;
  std::int64_t message_count = 0;
  std::int32_t message_peer = -1;  // -1: any rank
  std::int32_t message_tag = 0;
  DType message_dtype = DType::kU8;
  bool has_open_sends = false;  // sends of this rank are in flight
  char reserved[6] = {};

  bool is_receiving() const { return message_kind == BlockedMessage::Kind::kReceive; }

  // "has been in all_reduce #812 'conv1.w' (1024 x f32, sum) for 3.1 s"
  std::string activity() const;
};
static_assert(sizeof(RankReport) == 128);

struct ControlMessage {
  enum class Kind : char {
    kQuestion = 'Q',  // asks for the state of the ranks of the receiver's host
    kReports = 'R',   // their state: the reply to a question, or a leave notice
    kFailure = 'F',   // the communicator has failed
    kDeath = 'D',     // a process has died; all its communicators have failed
  };
  Kind kind = Kind::kQuestion;
  std::int32_t communicator = 0;
  std::vector<RankReport> reports = {};
  Result failure = Result::ok();
  std::int32_t dead_rank = -1;  // rank in the job

  std::string to_text() const;
  // Returns nullopt if the text was written by another version of the library.
  static std::optional<ControlMessage> parse(std::string_view text);
};

}  // namespace tutti::comm
