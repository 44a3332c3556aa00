#include "tutti/comm/faults/watchdog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tutti/comm/faults/pidfd.h"
#include "tutti/core/clock.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostNamed = 4;

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

}  // namespace

Watchdog::Watchdog(const Options& options)
    : timeout_ns_(static_cast<std::int64_t>(options.number("timeout") * 1e9)),
      stall_ns_(static_cast<std::int64_t>(options.number("stall_seconds") * 1e9)) {}

Result Watchdog::on_stall(int rank, std::int64_t waited) {
  const std::int64_t now = now_ns();
  if (!membership_ || now - last_look_ns_ < kInterval / 2) return Result::ok();
  const std::int64_t gap = last_look_ns_ == 0 ? 0 : now - last_look_ns_;
  if (gap > kSecond) stood_still_ns_ += gap;
  last_look_ns_ = now;
  waited = waited_ns_ = std::max<std::int64_t>(0, waited - stood_still_ns_);
  Result verdict = check_peers(rank);
  if (!verdict) return verdict;
  question(waited);
  const bool may_wait = is_end_ || waited < limit_ns_;
  if (may_wait && waited >= next_report_ns_) report_stall(rank);
  if (may_wait) return Result::ok();
  return Result::failure(
      ErrorKind::kTimeout, "DDL-4-05",
      fmt::format("Rank {} timed out in {} after {:.1f} s: {}. Raise the option timeout if "
                  "it only needs longer.",
                  membership_->rank(), record_.text(), seconds(waited), describe(rank)));
}

// At the end of the job failures of the communicator do not matter: a failed rank still arrives, and the loss of a rank
// ends the wait itself.
Result Watchdog::check_peers(int rank) {
  if (is_end_) return Result::ok();
  return membership_->look() << [&] { return is_message() ? check_peer(rank) : check_all(); };
}

void Watchdog::report_stall(int rank) {
  const std::string missing = describe(rank);
  log::warning("DDL-4-06 Waiting for {:.1f} s in {}: {}.", seconds(waited_ns_), operation(),
               missing);
  monitor_->recorder().events().write(
      "stall",
      {{"operation", operation()}, {"seconds", seconds(waited_ns_)}, {"missing", missing}});
  next_report_ns_ = waited_ns_ * 2;
}

void Watchdog::report_recovery() {
  log::info("DDL-4-11 {} continues after {:.1f} s.", record_.text(), seconds(waited_ns_));
  monitor_->recorder().events().write(
      "recovered", {{"operation", record_.text()}, {"seconds", seconds(waited_ns_)}});
}

Result Watchdog::check_all() {
  for (int rank = 0; rank < membership_->size(); ++rank) {
    if (rank == membership_->rank()) continue;
    const auto report = report_of(rank, false, 1);
    Result verdict = report ? check_report(*report) : Result::ok();
    if (!verdict) return verdict;
  }
  return Result::ok();
}

// Conditions that no later event can repair. A rank that left may have failed before; its failure message may still be
// in flight, so it gets 0.1 s.
Result Watchdog::check_report(const RankReport& report) {
  if (report.has_left && report.completed < record_.sequence) {
    return has_left_for(kSecond / 10) ? has_left(report.rank) : Result::ok();
  }
  // Messages between two ranks have no sequence number; neither has a rank before its first operation.
  const bool is_same = record_.sequence > 0 && report.record.sequence == record_.sequence;
  if (is_same && !report.record.agrees_with(record_)) {
    return disagreement(membership_->rank(), record_, report.rank, report.record);
  }
  return Result::ok();
}

// The last message of a rank that left may still be in flight; it gets 1 s.
Result Watchdog::check_peer(int rank) {
  if (rank < 0) return Result::ok();
  const auto report = report_of(rank, false, 1);
  if (!report || !report->has_left) return Result::ok();
  return has_left_for(kSecond) ? has_left(rank) : Result::ok();
}

bool Watchdog::has_left_for(std::int64_t nanoseconds) {
  if (left_since_ns_ == 0) left_since_ns_ = last_look_ns_;
  return last_look_ns_ - left_since_ns_ >= nanoseconds;
}

Result Watchdog::has_left(int rank) const {
  return Result::failure(
      ErrorKind::kComm, "DDL-4-03",
      fmt::format("Rank {} on {} has left the job while rank {} is waiting for it in {}. Check the "
                  "output of that rank.",
                  rank, membership_->host_of(rank), membership_->rank(), record_.text()));
}

std::optional<RankReport> Watchdog::report_of(int rank, bool with_process_state,
                                              std::int64_t since_ns) const {
  const int member = membership_->host().index_of(rank);
  if (member < 0) return membership_->last_report(rank, since_ns);
  return membership_->local_report(member, with_process_state);
}

// Early enough for the replies to arrive before the stall is reported, and rare enough for thousands of ranks that all
// wait for one.
void Watchdog::question(std::int64_t waited) {
  const std::int64_t first = std::min(kSecond, stall_ns_ / 3);
  if (waited < first || membership_->host().size() == membership_->size()) return;
  if (asked_since_ns_ == 0) asked_since_ns_ = last_look_ns_;
  monitor_->ask_other_hosts(*membership_, std::max(first / 2, waited / 4));
}

// Follows the receives from rank to rank. While a rank on the path has sends in flight, another may still receive what
// it waits for.
std::string Watchdog::describe_deadlock() const {
  std::vector<int> path;
  int rank = membership_->rank();
  while (std::find(path.begin(), path.end(), rank) == path.end()) {
    const auto report = report_of(rank, false, std::max<std::int64_t>(1, asked_since_ns_));
    const bool is_blocked = report && report->is_receiving() && !report->is_inside &&
                            !report->has_open_sends && report->message_peer >= 0 &&
                            report->message_peer < membership_->size();
    if (!is_blocked) return "";
    path.push_back(rank);
    rank = report->message_peer;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), rank));
  std::vector<std::string> receives;
  for (std::size_t i = 0; i < path.size(); ++i) {
    receives.push_back(
        fmt::format("rank {} receives from rank {}", path[i], path[(i + 1) % path.size()]));
  }
  return fmt::format("deadlock: {}. Let one of them send before it receives",
                     fmt::join(receives, ", "));
}

std::string Watchdog::describe(int awaited) const {
  if (is_message()) {
    const std::string deadlock = describe_deadlock();
    if (!deadlock.empty()) return deadlock;
  }
  std::vector<std::string> missing;
  std::vector<int> silent;
  for (int rank = 0; rank < membership_->size(); ++rank) {
    if (rank == membership_->rank() || (is_message() && awaited >= 0 && rank != awaited)) continue;
    const auto report = report_of(rank, true, std::max<std::int64_t>(1, asked_since_ns_));
    if (!report) {
      silent.push_back(rank);
    } else if (is_missing(*report)) {
      missing.push_back(describe(*report));
    }
  }
  if (missing.size() > kMostNamed) {
    const std::size_t more = missing.size() - kMostNamed;
    missing.resize(kMostNamed);
    missing.push_back(fmt::format("{} more are missing", more));
  }
  if (!silent.empty() && asked_since_ns_ != 0) missing.push_back(describe_silent(silent));
  if (!missing.empty()) return fmt::format("{}", fmt::join(missing, "; "));
  return awaited < 0 ? "all ranks have reached it"
                     : fmt::format("data of {} has not arrived", membership_->name_of(awaited));
}

bool Watchdog::is_missing(const RankReport& report) const {
  if (is_end_) return !report.has_left;
  if (is_message() || is_stopped(report.process_state)) return true;
  return report.completed < record_.sequence && report.record.sequence < record_.sequence;
}

std::string Watchdog::describe(const RankReport& report) const {
  return fmt::format("{} (process {}{}) {}", membership_->name_of(report.rank), report.process,
                     is_stopped(report.process_state) ? ", stopped by a signal" : "",
                     report.activity());
}

std::string Watchdog::describe_silent(const std::vector<int>& ranks) const {
  std::map<std::string, std::vector<int>> hosts;
  for (const int rank : ranks) hosts[membership_->host_of(rank)].push_back(rank);
  std::vector<std::string> texts;
  for (const auto& [host, members] : hosts) {
    if (texts.size() == kMostNamed) break;
    texts.push_back(fmt::format("{} (rank {})", host, fmt::join(members, ", ")));
  }
  const std::size_t more = hosts.size() - texts.size();
  return fmt::format("no answer for {:.1f} s from {}{}: stopped, cut off or dead",
                     seconds(now_ns() - asked_since_ns_), fmt::join(texts, ", "),
                     more > 0 ? fmt::format(" and {} more hosts", more) : "");
}

}  // namespace tutti::comm
