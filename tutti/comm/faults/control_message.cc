#include "tutti/comm/faults/control_message.h"

#include <fmt/format.h>

#include <cstring>

namespace tutti::comm {
namespace {

// Fixed-size header of every message. The payload depends on the kind: consecutive reports, or the code and the message
// of a failure, each terminated by a null byte.
struct Head {
  char version = '2';
  ControlMessage::Kind kind;
  char error_kind = 0;
  char reserved = 0;
  std::int32_t communicator;
  std::int32_t dead_rank;
};

// "receive of 10 x f32 from rank 2, tag 5"
std::string message_text(const RankReport& report) {
  const bool is_receive = report.is_receiving();
  const std::string peer =
      report.message_peer < 0 ? "any rank" : fmt::format("rank {}", report.message_peer);
  return fmt::format("{} of {} x {} {} {}, tag {}", is_receive ? "receive" : "send",
                     report.message_count, name_of(report.message_dtype),
                     is_receive ? "from" : "to", peer, report.message_tag);
}

}  // namespace

std::string RankReport::activity() const {
  const std::string last = record.text();
  const double seconds = static_cast<double>(since_ns) * 1e-9;
  if (has_left) return "has left the job";
  if (is_inside) return fmt::format("has been in {} for {:.1f} s", last, seconds);
  if (message_kind != BlockedMessage::Kind::kNone) {
    return fmt::format("has been in a {} for {:.1f} s", message_text(*this),
                       static_cast<double>(message_since_ns) * 1e-9);
  }
  if (record.sequence == 0) return fmt::format("has made no call for {:.1f} s", seconds);
  return fmt::format("has been outside the library for {:.1f} s, after {}", seconds, last);
}

std::string ControlMessage::to_text() const {
  Head head{.kind = kind, .communicator = communicator, .dead_rank = dead_rank};
  if (!failure) head.error_kind = static_cast<char>(failure.kind());
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text.append(reinterpret_cast<const char*>(reports.data()), reports.size() * sizeof(RankReport));
  if (!failure) text += failure.code() + '\0' + failure.message() + '\0';
  return text;
}

std::optional<ControlMessage> ControlMessage::parse(std::string_view text) {
  Head head{};
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data(), sizeof head);
  text.remove_prefix(sizeof head);
  if (head.version != Head{}.version) return std::nullopt;
  ControlMessage message{
      .kind = head.kind, .communicator = head.communicator, .dead_rank = head.dead_rank};
  if (message.kind == Kind::kReports) {
    if (text.size() % sizeof(RankReport) != 0) return std::nullopt;
    message.reports.resize(text.size() / sizeof(RankReport));
    std::memcpy(message.reports.data(), text.data(), text.size());
  }
  if (message.kind == Kind::kFailure || message.kind == Kind::kDeath) {
    const std::size_t end = text.find('\0');
    if (end == text.npos || text.back() != '\0') return std::nullopt;
    message.failure =
        Result::failure(static_cast<ErrorKind>(head.error_kind), std::string(text.substr(0, end)),
                        std::string(text.substr(end + 1, text.size() - end - 2)));
  }
  return message;
}

}  // namespace tutti::comm
