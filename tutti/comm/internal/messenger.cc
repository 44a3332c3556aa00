#include "tutti/comm/internal/messenger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "tutti/comm/internal/calls.h"
#include "tutti/comm/internal/progress.h"
#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

int channel_of(int tag) {
  return Router::kFirstTag + tag % Communicator::kTags;
}

}  // namespace

struct Messenger::Head {
  OpRecord record;
  std::unique_ptr<Transfer> transfer;
};

struct Messenger::Message {
  bool is_send = false;
  int peer = 0;  // -1: any, until one has come
  int channel = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
  Buffer buffer = {};  // of a receive
  int tag = 0;
  int* source = nullptr;  // where a receive from any rank says who it was
  OpRecord expected;      // what this side says the message is
  OpRecord header;        // what travels
  std::unique_ptr<Transfer> head, body;
  bool head_passed = false;
  std::int64_t since = now_ns();
  std::optional<Watch> watch;  // made when the message is late
  std::shared_ptr<Work::State> work = std::make_shared<Work::State>();
};

Messenger::Messenger(Router& router, const Watch& watch, int rank,
                     std::function<Result(Result)> fail)
    : router_(router), watch_(watch), rank_(rank), fail_(std::move(fail)) {}

Messenger::~Messenger() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

OpRecord Messenger::header_of(const ConstBuffer& buffer, int sender, int tag) const {
  Operation operation;
  operation.collective = plan::Collective::kSendReceive;
  operation.dtype = buffer.dtype;
  operation.count = buffer.count;
  operation.root = sender;
  const std::string name = fmt::format("tag {}", tag);
  operation.name = name;
  return OpRecord::of(operation, 0);
}

Work Messenger::send(ConstBuffer buffer, int peer, int tag) {
  auto message = std::make_unique<Message>();
  message->is_send = true;
  message->peer = peer;
  message->channel = channel_of(tag);
  message->data = const_cast<void*>(buffer.data);  // read only, see advance
  message->bytes = buffer.bytes();
  message->expected = message->header = header_of(buffer, rank_, tag);
  return start(std::move(message));
}

Work Messenger::receive(Buffer buffer, int peer, int tag) {
  return receive(buffer, peer, nullptr, tag);
}

Work Messenger::receive_any(Buffer buffer, int* peer, int tag) {
  return receive(buffer, -1, peer, tag);
}

Work Messenger::receive(Buffer buffer, int peer, int* source, int tag) {
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

Work Messenger::start(std::unique_ptr<Message> message) {
  const Work work(message->work);
  const std::lock_guard lock(mutex_);
  // Posted here, so that the messages of one tag keep the order of the calls.
  if (message->is_send) {
    message->head =
        router_.send(message->peer, message->channel, &message->header, sizeof(OpRecord));
    message->body = router_.send(message->peer, message->channel, message->data, message->bytes);
  }
  started_.push_back(std::move(message));
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  changed_.notify_all();
  return work;
}

bool Messenger::is_next(std::size_t i, int peer) const {
  const Message& message = *open_[i];
  return std::none_of(open_.begin(), open_.begin() + static_cast<long>(i), [&](const auto& other) {
    return other && !other->is_send && other->channel == message.channel &&
           (other->peer == peer || other->peer < 0);
  });
}

// Looks whether the header of a message that this receive may take has come.
Result Messenger::find_head(std::size_t i) {
  Message& message = *open_[i];
  const int first = message.peer < 0 ? 0 : message.peer;
  const int last = message.peer < 0 ? router_.size() - 1 : message.peer;
  for (int peer = first; peer <= last && !message.head_passed; ++peer) {
    if (peer == rank_ || !is_next(i, peer)) continue;
    std::unique_ptr<Head>& head = heads_[{peer, message.channel}];
    if (!head) {
      head = std::make_unique<Head>();
      head->transfer = router_.receive(peer, message.channel, &head->record, sizeof(OpRecord));
    }
    Result outcome = head->transfer->test(&message.head_passed);
    if (!outcome) return outcome;
    if (!message.head_passed) continue;
    message.peer = peer;
    message.header = head->record;
    heads_.erase({peer, message.channel});
  }
  return Result::ok();
}

Result Messenger::advance(std::size_t i, bool* finished) {
  Message& message = *open_[i];
  if (!message.head_passed) {
    Result outcome = message.is_send ? message.head->test(&message.head_passed) : find_head(i);
    if (!outcome || !message.head_passed) return outcome;
    if (message.source) {
      *message.source = message.peer;
      message.expected = header_of(message.buffer, message.peer, message.tag);
    }
    if (!message.header.agrees_with(message.expected)) {
      return disagreement(rank_, message.expected, message.peer, message.header);
    }
    if (!message.is_send) {
      message.body = router_.receive(message.peer, message.channel, message.data, message.bytes);
    }
  }
  return message.body->test(finished);
}

Result Messenger::be_patient(Message& message) {
  const std::int64_t waited = now_ns() - message.since;
  if (waited < Patience::kInterval) return Result::ok();
  if (!message.watch) message.watch.emplace(watch_).begin(message.expected);
  return message.watch->ask(message.peer, waited);
}

// Receives from one peer with one tag take turns: the next one posts its header only when the one
// before is through.
void Messenger::loop() {
  int idle_turns = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_ending_ || !started_.empty() || !open_.empty(); });
      if (is_ending_) break;
      while (!started_.empty()) {
        open_.push_back(std::move(started_.front()));
        started_.pop_front();
      }
    }
    bool advanced = false;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      Message& message = *open_[i];
      if (!message.is_send && message.peer >= 0 && !is_next(i, message.peer)) continue;
      bool finished = false;
      Result outcome = advance(i, &finished);
      if (outcome && !finished) outcome = be_patient(message);
      if (outcome && !finished) continue;
      if (!outcome) outcome = fail_(std::move(outcome));
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
  const auto give_up = [](Message& message) {
    message.work->complete(
        Result::failure(ErrorKind::kComm, "DDL-4-07",
                        "The communicator was destroyed before the message was through."));
  };
  for (auto& message : open_) give_up(*message);
  for (auto& message : started_) give_up(*message);
}

}  // namespace tutti::comm
