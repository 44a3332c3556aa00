// The thread that talks: finds out with the neighbours in the tree what is ready everywhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/fusion/internal/engine_impl.h"

namespace tutti::fusion {
namespace {

constexpr std::int64_t kWatchInterval = 20'000'000;  // ns
// A rank that has nothing of its own under way holds nobody up, so it listens rarely; one that
// waits looks often at first.
constexpr int kYields = 20;
constexpr std::chrono::microseconds kShortRest{40}, kLongRest{200}, kIdleRest{20'000};
constexpr int kShortRests = 500;

// At most so many names of ranks in a message.
std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 16;
  const std::vector<int> some(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kMost)));
  return fmt::format("rank{} {}{}", ranks.size() == 1 ? "" : "s", fmt::join(some, ", "),
                     ranks.size() > kMost ? fmt::format(" and {} more", ranks.size() - kMost) : "");
}

}  // namespace

void EngineImpl::talk() {
  log::set_tag(fmt::format("rank {}", place_.rank));
  try {
    while (!is_at_end()) {
      bool has_moved = take_submitted();
      has_moved |= listen();
      has_moved |= place_.parent < 0 ? release() : send_up();
      plane_.flush();
      watch();
      rest(has_moved);
    }
  } catch (const Error& error) {
    fail(Result::from(error), true);
  } catch (const std::exception& error) {
    fail(Result::failure(ErrorKind::kComm, "DDL-4-76",
                         fmt::format("The fusion engine of rank {} has failed: {}.", place_.rank,
                                     error.what())),
         true);
  }
}

bool EngineImpl::take_submitted() {
  std::deque<Report> reports;
  bool is_joining = false, is_leaving = false;
  {
    const std::lock_guard lock(mutex_);
    has_news_ = false;
    reports.swap(submitted_);
    is_joining = std::exchange(is_joining_, false);
    is_leaving = is_leaving_;
  }
  const std::int64_t now = now_ns();
  for (Report& report : reports) negotiator_.submit(std::move(report), now);
  if (is_joining) negotiator_.join();
  if (is_leaving) negotiator_.leave();
  if (is_leaving && leaving_since_ns_ == 0) leaving_since_ns_ = now;
  return !reports.empty() || is_joining;
}

bool EngineImpl::listen() {
  bool has_moved = false;
  for (std::size_t c = 0; c < place_.children.size(); ++c) {
    while (!child_has_ended_[c]) {
      const auto bytes = plane_.from_child(c);
      if (!bytes) break;
      has_moved = true;
      // An empty message is the last.
      child_has_ended_[c] = bytes->empty();
      if (!bytes->empty()) negotiator_.receive(c, decode_up(*bytes), now_ns());
    }
  }
  while (place_.parent >= 0 && !has_said_goodbye_) {
    const auto bytes = plane_.from_parent();
    if (!bytes) break;
    handle(*bytes);
    has_moved = true;
  }
  return has_moved;
}

bool EngineImpl::send_up() {
  const UpMessage up = negotiator_.take_up();
  if (up.is_empty() || has_said_goodbye_) return false;
  plane_.send_up(encode(up));
  const std::lock_guard lock(mutex_);
  statistics_.full_reports += static_cast<std::int64_t>(up.reports.size());
  statistics_.known_reports += static_cast<std::int64_t>(up.known.size());
  return true;
}

bool EngineImpl::release() {
  negotiator_.take_up();  // nobody is above
  fill_down_message();
  if (down_.is_empty()) return false;
  const std::string bytes = encode(down_);
  down_ = {};
  handle(bytes);
  return true;
}

void EngineImpl::fill_down_message() {
  const std::int64_t now = now_ns();
  for (Report& report : negotiator_.take_ready()) {
    if (report.trouble.empty()) {
      queue_.add(std::move(report), now);
    } else {
      down_.failures.push_back(
          {report.name, "DDL-4-71",
           fmt::format("Ranks disagree about tensor '{}': {}.", report.name, report.trouble),
           false});
    }
  }
  if (!negotiator_.left().empty()) {
    queue_.take_all();  // whoever left may have given up its part of them
    if (!std::exchange(has_told_left_, true)) down_.left = *negotiator_.left().begin();
    down_.is_end = negotiator_.all_left() && !has_said_goodbye_;
    return;
  }
  const std::lock_guard lock(mutex_);
  if (tuner_) queue_.set(tuner_->point().bucket_bytes(), tuner_->point().cycle_ns());
  statistics_.bucket_bytes = queue_.settings().bucket_bytes;
  statistics_.cycle_ms = 1e-6 * static_cast<double>(queue_.settings().cycle_ns);
  statistics_.is_tuned = tuner_ && tuner_->is_done();
  const int already = under_way_;
  for (;;) {
    const std::vector<Report> bucket =
        queue_.next(now, already + static_cast<int>(down_.buckets.size()));
    if (bucket.empty()) break;
    std::vector<Item>& items = down_.buckets.emplace_back();
    for (const Report& report : bucket) items.push_back(negotiator_.item_of(report));
  }
  if (negotiator_.all_joined() && queue_.is_empty()) down_.last_joined = negotiator_.last_joined();
}

void EngineImpl::handle(const std::string& bytes) {
  plane_.send_down(bytes);
  DownMessage down = decode_down(bytes);
  negotiator_.apply(down);
  accept(down);
  if (down.left >= 0) {
    fail(Result::failure(
             ErrorKind::kComm, "DDL-4-74",
             fmt::format("Rank {} has ended its part of the fusion engine: let all ranks "
                         "give the same tensors, or join.",
                         down.left)),
         false);
  }
  if (!down.is_end) return;
  has_said_goodbye_ = true;
  if (place_.parent >= 0) plane_.send_up("");
}

void EngineImpl::accept(const DownMessage& down) {
  std::vector<std::pair<std::shared_ptr<Entry>, Result>> failed;
  std::shared_ptr<comm::Work::State> join_work;
  {
    const std::lock_guard lock(mutex_);
    const auto entry_of = [&](const std::string& name) {
      const auto found = entries_.find(name);
      return found == entries_.end() ? nullptr : found->second;
    };
    const std::int64_t now = now_ns();
    for (const auto& items : down.buckets) {
      Bucket& bucket = buckets_.emplace_back(Bucket{items, {}});
      ++under_way_;
      for (const Item& item : items) {
        const auto& entry = bucket.entries.emplace_back(entry_of(item.report.name));
        if (!entry) continue;
        entry->is_released = true;
        --not_released_;
        timeline_.add(Timeline::Row::kTensors, "negotiate", item.report.name, entry->submitted_ns,
                      now);
        entry->submitted_ns = now;  // from here on it waits for its turn
      }
    }
    for (const auto& failure : down.failures) {
      const auto kind = failure.is_timeout ? ErrorKind::kTimeout : ErrorKind::kComm;
      has_timed_out_ |= failure.is_timeout;
      if (auto entry = entry_of(failure.name))
        failed.emplace_back(entry, Result::failure(kind, failure.code, failure.text));
    }
    if (down.last_joined >= 0) {
      if (last_joined_) *last_joined_ = down.last_joined;
      join_work = std::exchange(join_work_, nullptr);
    }
    has_ended_ |= down.is_end;
    work_changed_.notify_all();
  }
  for (const auto& [entry, outcome] : failed) complete(entry, outcome);
  if (join_work) join_work->complete(Result::ok());
}

bool EngineImpl::is_at_end() {
  {
    const std::lock_guard lock(mutex_);
    if (has_failed_) return true;
  }
  if (!has_said_goodbye_ || !plane_.flush()) return false;
  for (const bool has_ended : child_has_ended_) {
    if (!has_ended) return false;
  }
  return true;
}

void EngineImpl::watch() {
  const std::int64_t now = now_ns();
  if (now < next_watch_ns_) return;
  next_watch_ns_ = now + kWatchInterval;
  communicator_->check();
  report_stalls(now);
  watch_end(now);
}

// There is no time limit: another rank may save its model before it ends. Only a rank that did not
// give a tensor in time is not waited for.
void EngineImpl::watch_end(std::int64_t now) {
  if (leaving_since_ns_ == 0 || has_said_goodbye_) return;
  const std::int64_t waited = now - leaving_since_ns_;
  const double seconds = 1e-9 * static_cast<double>(waited);
  if (has_timed_out_ && waited >= stall_ns_) {
    throw TimeoutError(
        "DDL-4-77",
        fmt::format("Rank {} has ended its part, but not all others have within {:.1f} s: it does "
                    "not wait any longer.",
                    place_.rank, seconds));
  }
  if (waited < next_end_report_ns_) return;
  next_end_report_ns_ = 2 * waited;
  log::warning(
      "DDL-4-06 Waiting for {:.1f} s at the end of the fusion engine: not all ranks have "
      "ended their part.",
      seconds);
}

// Those far from the root look first, so that their word is there when the root looks.
void EngineImpl::report_stalls(std::int64_t now) {
  const std::int64_t stall_handler = stall_ns_ + stall_ns_ / 8 * place_.height;
  for (const Stall& stall : negotiator_.look_for_stalls(now, stall_handler)) {
    log::warning("DDL-4-72 Tensor '{}' has been waiting for {:.1f} s: {} did not give it.",
                 stall.name, stall.seconds, ranks_text(stall.missing));
  }
  if (place_.parent >= 0) return;
  for (const Stall& stall : negotiator_.overdue(now, timeout_ns_)) {
    down_.failures.push_back({stall.name, "DDL-4-73",
                              fmt::format("Tensor '{}' was not given by {} within {:.1f} s.",
                                          stall.name, ranks_text(stall.missing), stall.seconds),
                              true});
  }
}

void EngineImpl::rest(bool has_moved) {
  std::unique_lock lock(mutex_);
  statistics_.messages = plane_.received();
  if (has_moved || has_news_) {
    idle_turns_ = 0;
    return;
  }
  ++idle_turns_;
  // What was released needs no more words, and its end is news.
  const bool waits = not_released_ > 0 || join_work_ || is_leaving_;
  if (waits && idle_turns_ <= kYields) {
    lock.unlock();
    std::this_thread::yield();
    return;
  }
  const auto length = !waits ? kIdleRest : idle_turns_ <= kShortRests ? kShortRest : kLongRest;
  talk_changed_.wait_for(lock, length, [&] { return has_news_ || has_failed_; });
}

}  // namespace tutti::fusion
