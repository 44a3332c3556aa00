#include "tutti/fusion/internal/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/fusion/internal/failure.h"

namespace tutti::fusion {

Coordinator::Coordinator(comm::Communicator& communicator, PendingTensors& pending,
                         BucketExecutor& executor, SharedStatistics& statistics, Wakeup& wakeup,
                         const Settings& settings)
    : communicator_(communicator),
      pending_(pending),
      executor_(executor),
      statistics_(statistics),
      wakeup_(wakeup),
      position_(communicator.rank(), communicator.size(), settings.radix),
      negotiator_(position_, settings.cache_entries),
      plane_(communicator.wire(), comm::Communicator::kOwnChannel, position_),
      scheduler_(negotiator_, settings.buckets),
      stalls_(negotiator_, position_, settings.stall_ns, settings.timeout_ns),
      child_has_ended_(position_.children.size()),
      thread_([this] { loop(); }) {}

void Coordinator::loop() {
  log::set_tag(fmt::format("rank {}", position_.rank));
  const Result outcome = outcome_of(position_.rank, [this] {
    while (!is_at_end()) {
      bool has_moved = take_submissions();
      has_moved |= listen();
      has_moved |= position_.parent < 0 ? decide() : send_up();
      plane_.flush();
      watch();
      statistics_.update([&](EngineStatistics& all) { all.messages = plane_.received(); });
      if (has_moved)
        wakeup_.note_progress();
      else
        wakeup_.rest(pending_.needs_negotiation());
    }
  });
  if (!outcome) pending_.fail(outcome, true);
}

bool Coordinator::take_submissions() {
  wakeup_.clear();
  PendingTensors::Submissions submissions = pending_.take_submissions();
  const std::int64_t now = now_ns();
  for (Report& report : submissions.reports) negotiator_.submit(std::move(report), now);
  if (submissions.is_joining) negotiator_.join();
  if (submissions.is_leaving) {
    negotiator_.leave();
    stalls_.note_leaving(now);
  }
  return !submissions.reports.empty() || submissions.is_joining;
}

bool Coordinator::listen() {
  bool has_moved = false;
  for (std::size_t c = 0; c < position_.children.size(); ++c) {
    while (!child_has_ended_[c]) {
      const auto bytes = plane_.from_child(c);
      if (!bytes) break;
      has_moved = true;
      // An empty message is the last one of the child.
      child_has_ended_[c] = bytes->empty();
      if (!bytes->empty()) negotiator_.receive(c, decode_up(*bytes), now_ns());
    }
  }
  while (position_.parent >= 0 && !has_ended_) {
    const auto bytes = plane_.from_parent();
    if (!bytes) break;
    handle(*bytes);
    has_moved = true;
  }
  return has_moved;
}

bool Coordinator::send_up() {
  const UpMessage up = negotiator_.take_up();
  if (up.is_empty() || has_ended_) return false;
  plane_.send_up(encode(up));
  statistics_.update([&](EngineStatistics& all) {
    all.full_reports += static_cast<std::int64_t>(up.reports.size());
    all.known_reports += static_cast<std::int64_t>(up.known.size());
  });
  return true;
}

bool Coordinator::decide() {
  const bool is_tuned = executor_.tune(scheduler_.queue());
  const BucketQueue::Settings& settings = scheduler_.queue().settings();
  statistics_.update([&](EngineStatistics& all) {
    all.bucket_bytes = settings.bucket_bytes;
    all.cycle_ms = 1e-6 * static_cast<double>(settings.cycle_ns);
    all.is_tuned = is_tuned;
  });
  const DownMessage down = scheduler_.next(now_ns(), executor_.in_flight());
  if (down.is_empty()) return false;
  handle(encode(down));
  return true;
}

void Coordinator::handle(const std::string& bytes) {
  plane_.send_down(bytes);
  DownMessage down = decode_down(bytes);
  negotiator_.apply(down);
  if (std::ranges::any_of(down.failures, &DownMessage::Failure::is_timeout)) stalls_.note_timeout();
  for (Bucket& bucket : pending_.release(down)) executor_.start(std::move(bucket));
  if (down.left >= 0) {
    pending_.fail(Result::failure(ErrorKind::kComm, "DDL-4-74",
                                  fmt::format("Rank {} has shut down its fusion engine. Submit the "
                                              "same tensors on all ranks, or use join.",
                                              down.left)),
                  false);
  }
  if (!down.is_end) return;
  has_ended_ = true;
  if (position_.parent >= 0) plane_.send_up("");
}

bool Coordinator::is_at_end() {
  if (!pending_.final_failure()) return true;
  return has_ended_ && plane_.flush() && std::ranges::all_of(child_has_ended_, std::identity());
}

void Coordinator::watch() {
  const std::int64_t now = now_ns();
  if (!stalls_.is_due(now)) return;
  communicator_.check();
  for (DownMessage::Failure& failure : stalls_.look(now))
    scheduler_.add_failure(std::move(failure));
  if (!has_ended_) stalls_.look_at_end(now);
}

}  // namespace tutti::fusion
