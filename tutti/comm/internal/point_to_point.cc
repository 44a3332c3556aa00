#include "tutti/comm/internal/point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "tutti/comm/internal/calls.h"
#include "tutti/comm/work_queue.h"
#include "tutti/core/clock.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

int channel_of(int tag) {
  return Router::kFirstTag + tag % Router::kTags;
}

}  // namespace

struct PointToPoint::PostedHeader {
  OpRecord record;
  std::unique_ptr<Transfer> transfer;
};

struct PointToPoint::Unexpected {
  int peer = 0;
  OpRecord header;
  std::vector<std::byte> data;
  std::unique_ptr<Transfer> transfer;
};

struct PointToPoint::Message {
  bool is_send = false;
  int peer = 0;  // -1: any rank, until one is matched
  int channel = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
  Buffer buffer = {};  // receives only
  int tag = 0;
  int* source = nullptr;  // receive_any: set to the sender
  OpRecord expected;      // the message as this side describes it
  OpRecord header;        // the header that is sent or received
  std::unique_ptr<Transfer> head, body;
  std::unique_ptr<Unexpected>
      unexpected;  // used instead of `body` if the message arrived before its receive
  bool head_passed = false;
  std::int64_t since = now_ns();
  std::optional<Watchdog> watch;  // created when the message is late
  std::shared_ptr<Work::State> work = std::make_shared<Work::State>();
};

PointToPoint::PointToPoint(Router& router, const Watchdog& watch, int rank,
                           std::shared_ptr<MessageWaits> waits, std::function<Result(Result)> fail)
    : router_(router),
      watch_(watch),
      rank_(rank),
      fail_(std::move(fail)),
      waits_(std::move(waits)) {}

PointToPoint::~PointToPoint() {
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

OpRecord PointToPoint::header_of(const ConstBuffer& buffer, int sender, int tag) const {
  Operation operation;
  operation.collective = plan::Collective::kSendReceive;
  operation.dtype = buffer.dtype;
  operation.count = buffer.count;
  operation.root = sender;
  const std::string name = fmt::format("tag {}", tag);
  operation.name = name;
  OpRecord record = OpRecord::of(operation, 0);
  record.name_hash = static_cast<std::uint64_t>(tag);
  return record;
}

Work PointToPoint::send(ConstBuffer buffer, int peer, int tag) {
  auto message = std::make_unique<Message>();
  message->is_send = true;
  message->peer = peer;
  message->channel = channel_of(tag);
  message->data = const_cast<void*>(buffer.data);  // only read, see advance
  message->bytes = buffer.bytes();
  message->tag = tag;
  message->buffer = {message->data, buffer.count, buffer.dtype};
  message->expected = message->header = header_of(buffer, rank_, tag);
  return start(std::move(message));
}

Work PointToPoint::receive(Buffer buffer, int peer, int tag) {
  return receive(buffer, peer, nullptr, tag);
}

Work PointToPoint::receive_any(Buffer buffer, int* peer, int tag) {
  return receive(buffer, -1, peer, tag);
}

Work PointToPoint::receive(Buffer buffer, int peer, int* source, int tag) {
  auto message = std::make_unique<Message>();
  message->peer = peer;
  message->source = source;
  message->channel = channel_of(tag);
  message->data = buffer.data;
  message->bytes = buffer.bytes();
  message->buffer = buffer;
  message->tag = tag;
  message->expected = header_of(buffer, peer, tag);
  return start(std::move(message));
}

Work PointToPoint::start(std::unique_ptr<Message> message) {
  const Work work(message->work);
  message->work->on_wait = [waits = waits_, blocked = MessageEnd{.is_send = message->is_send,
                                                                 .peer = message->peer,
                                                                 .tag = message->tag,
                                                                 .count = message->buffer.count,
                                                                 .dtype = message->buffer.dtype}](
                               bool begins) { begins ? waits->begin(blocked) : waits->end(); };
  const MutexLock lock(mutex_);
  // Posted here, so messages with the same tag keep the order of the calls.
  if (message->is_send) {
    message->head =
        router_.send(message->peer, message->channel, &message->header, sizeof(OpRecord));
    message->body = router_.send(message->peer, message->channel, message->data, message->bytes);
    waits_->add_sends(1);
  }
  started_.push_back(std::move(message));
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  changed_.notify_all();
  return work;
}

bool PointToPoint::is_next(std::size_t i, int peer) const {
  const Message& message = *open_[i];
  return std::none_of(open_.begin(), open_.begin() + static_cast<long>(i), [&](const auto& other) {
    return other && !other->is_send && other->tag == message.tag && !other->head_passed &&
           (other->peer == peer || other->peer < 0);
  });
}

// Checks whether a header that matches this receive has arrived.
Result PointToPoint::find_header(std::size_t i) {
  Message& message = *open_[i];
  const int first = message.peer < 0 ? 0 : message.peer;
  const int last = message.peer < 0 ? router_.size() - 1 : message.peer;
  for (int peer = first; peer <= last && !message.head_passed; ++peer) {
    if (peer == rank_ || !is_next(i, peer) || take_unexpected(message, peer)) continue;
    Result outcome = dispatch_headers(peer, message.channel);
    if (!outcome) return outcome;
  }
  return Result::ok();
}

bool PointToPoint::take_unexpected(Message& message, int peer) {
  const auto found =
      std::find_if(unexpected_.begin(), unexpected_.end(), [&](const auto& unexpected) {
        return unexpected->peer == peer &&
               unexpected->header.name_hash == message.expected.name_hash;
      });
  if (found == unexpected_.end()) return false;
  message.unexpected = std::move(*found);
  unexpected_.erase(found);
  message.peer = peer;
  message.header = message.unexpected->header;
  message.head_passed = true;
  return true;
}

Result PointToPoint::dispatch_headers(int peer, int channel) {
  for (;;) {
    std::unique_ptr<PostedHeader>& head = posted_headers_[{peer, channel}];
    if (!head) {
      head = std::make_unique<PostedHeader>();
      head->transfer = router_.receive(peer, channel, &head->record, sizeof(OpRecord));
    }
    bool has_arrived = false;
    Result outcome = head->transfer->test(&has_arrived);
    if (!outcome || !has_arrived) return outcome;
    const OpRecord record = head->record;
    posted_headers_.erase({peer, channel});
    dispatch_header(peer, channel, record);
    const bool is_wanted = std::any_of(open_.begin(), open_.end(), [&](const auto& other) {
      return other && !other->is_send && !other->head_passed && other->channel == channel &&
             (other->peer == peer || other->peer < 0);
    });
    if (!is_wanted) return outcome;
  }
}

void PointToPoint::dispatch_header(int peer, int channel, const OpRecord& record) {
  const bool is_behind =
      std::any_of(unexpected_.begin(), unexpected_.end(), [&](const auto& unexpected) {
        return unexpected->peer == peer && unexpected->header.name_hash == record.name_hash;
      });
  for (const auto& message : open_) {
    const bool is_it = !is_behind && message && !message->is_send && !message->head_passed &&
                       message->expected.name_hash == record.name_hash &&
                       message->channel == channel && (message->peer == peer || message->peer < 0);
    if (!is_it) continue;
    message->peer = peer;
    message->header = record;
    message->head_passed = true;
    // Posted now, so the next header is not taken for its body.
    if (message->source) message->expected = header_of(message->buffer, peer, message->tag);
    if (record.agrees_with(message->expected)) {
      message->body = router_.receive(peer, channel, message->data, message->bytes);
    }
    return;
  }
  auto unexpected = std::make_unique<Unexpected>();
  unexpected->peer = peer;
  unexpected->header = record;
  unexpected->data.resize(static_cast<std::size_t>(record.count) * size_of(record.dtype));
  unexpected->transfer =
      router_.receive(peer, channel, unexpected->data.data(), unexpected->data.size());
  unexpected_.push_back(std::move(unexpected));
}

Result PointToPoint::receive_body(Message& message, bool* finished) {
  if (message.source) {
    *message.source = message.peer;
    message.expected = header_of(message.buffer, message.peer, message.tag);
  }
  if (!message.header.agrees_with(message.expected)) {
    return disagreement(rank_, message.expected, message.peer, message.header);
  }
  if (!message.unexpected) return message.body->test(finished);
  Result outcome = message.unexpected->transfer->test(finished);
  if (outcome && *finished && message.bytes > 0) {
    std::memcpy(message.data, message.unexpected->data.data(), message.bytes);
  }
  return outcome;
}

Result PointToPoint::advance(std::size_t i, bool* finished) {
  Message& message = *open_[i];
  if (!message.head_passed) {
    Result outcome = message.is_send ? message.head->test(&message.head_passed) : find_header(i);
    if (!outcome || !message.head_passed) return outcome;
  }
  return message.is_send ? message.body->test(finished) : receive_body(message, finished);
}

Result PointToPoint::check_stall(Message& message) {
  const std::int64_t waited = now_ns() - message.since;
  if (waited < StallHandler::kInterval) return Result::ok();
  if (!message.watch) message.watch.emplace(watch_).begin(message.expected);
  return message.watch->on_stall(message.peer, waited);
}

// Receives from one peer with one tag are served in order: each looks for its header only after the previous one has
// found its own.
void PointToPoint::loop() {
  int idle_turns = 0;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!is_ending_ && started_.empty() && open_.empty()) changed_.wait(lock);
      if (is_ending_) break;
      while (!started_.empty()) {
        open_.push_back(std::move(started_.front()));
        started_.pop_front();
      }
    }
    bool advanced = false;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      Message& message = *open_[i];
      bool finished = false;
      Result outcome = advance(i, &finished);
      if (outcome && !finished) outcome = check_stall(message);
      if (outcome && !finished) continue;
      if (!outcome) outcome = fail_(std::move(outcome));
      if (message.is_send) waits_->add_sends(-1);
      message.work->complete(std::move(outcome));
      open_[i] = nullptr;
      advanced = true;
    }
    std::erase(open_, nullptr);
    idle_turns = advanced ? 0 : idle_turns + 1;
    if (idle_turns > 100) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else if (idle_turns > 0) {
      std::this_thread::yield();
    }
  }
  const auto abandon = [this](Message& message) {
    if (message.is_send) waits_->add_sends(-1);
    message.work->complete(Result::failure(ErrorKind::kComm, "DDL-4-07",
                                           "The communicator was destroyed before the message was "
                                           "complete. Wait for its Work first."));
  };
  for (auto& message : open_) abandon(*message);
  const MutexLock lock(mutex_);
  for (auto& message : started_) abandon(*message);
}

}  // namespace tutti::comm
