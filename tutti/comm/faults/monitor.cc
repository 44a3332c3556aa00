#include "tutti/comm/faults/monitor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "tutti/comm/faults/pidfd.h"
#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

// A signal is delivered to the process, which may have several jobs; the monitor of each job polls this counter.
std::atomic<std::uint64_t> signals = 0;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Installs the handler only if the program does not handle the signal itself.
void listen_to_signal() {
  struct sigaction current{};
  ::sigaction(SIGUSR1, nullptr, &current);
  if (current.sa_handler != SIG_DFL) return;
  struct sigaction ours{};
  ours.sa_handler = [](int) { signals.fetch_add(1, std::memory_order_relaxed); };
  ours.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &ours, nullptr);
}

}  // namespace

Monitor::Monitor(Transport& transport, Recorder& recorder, const Options& options)
    : transport_(transport),
      recorder_(recorder),
      aborts_(options.text("on_failure") == "abort"),
      listens_(options.flag("flight_signal")),
      wake_file_(::eventfd(0, EFD_CLOEXEC)),
      signals_seen_(signals) {
  if (listens_) listen_to_signal();
}

Monitor::~Monitor() {
  is_ending_ = true;
  ::eventfd_write(wake_file_, 1);
  if (thread_.joinable()) thread_.join();
  for (const Process& process : processes_) {
    if (process.file >= 0) ::close(process.file);
  }
  ::close(wake_file_);
}

void Monitor::add(Membership& membership) {
  const MutexLock lock(mutex_);
  memberships_[membership.id()] = &membership;
  for (int member = 0; member < membership.host().size(); ++member) {
    const int id = static_cast<int>(membership.host().control_block().block(member).process.load());
    if (id == ::getpid()) continue;  // this rank, or another thread-rank of this process
    auto process = std::find_if(processes_.begin(), processes_.end(),
                                [id](const Process& known) { return known.id == id; });
    if (process == processes_.end()) {
      process = processes_.insert(process, {.id = id, .file = open_pidfd(id)});
    }
    const int job_rank = membership.job_rank(membership.host().ranks()[member]);
    std::erase(process->job_ranks, job_rank);
    process->job_ranks.push_back(job_rank);
  }
  const bool has_work = transport_.size() > 1 || listens_;
  if (has_work && !thread_.joinable()) thread_ = std::thread([this] { loop(); });
  ::eventfd_write(wake_file_, 1);
}

void Monitor::remove(Membership& membership) {
  const MutexLock lock(mutex_);
  memberships_.erase(membership.id());
}

void Monitor::expect_end() {
  const MutexLock lock(mutex_);
  expects_end_ = true;
}

void Monitor::announce_exit() {
  if (has_abandoned_transport_) return;  // all ranks know why
  notify_death(
      transport_.rank(),
      Result::failure(ErrorKind::kComm, "DDL-4-04",
                      fmt::format("Rank {} has exited before all ranks reached the end of the job.",
                                  transport_.rank())));
}

void Monitor::abandon_transport() {
  has_abandoned_transport_ = true;
  transport_.abandon();
}

void Monitor::leave(Membership& membership) {
  const MutexLock lock(mutex_);
  const HostGroup& host = membership.host();
  host.control_block().block(host.index()).has_left.store(1);
  ControlMessage leave_message{.kind = ControlMessage::Kind::kReports,
                               .communicator = membership.id()};
  for (int member = 0; member < host.size(); ++member) {
    leave_message.reports.push_back(membership.local_report(member, false));
    if (!leave_message.reports.back().has_left) return;
  }
  send_to(membership, membership.ranks_elsewhere(), leave_message);
}

void Monitor::announce(Membership& membership) {
  const Result failure = membership.failure();
  report(failure);
  send_to(membership, membership.ranks_elsewhere(),
          {.kind = ControlMessage::Kind::kFailure,
           .communicator = membership.id(),
           .failure = failure});
}

void Monitor::abandon(const Result& failure) {
  const MutexLock lock(mutex_);
  for (const auto& [id, membership] : memberships_) {
    if (membership->look() && membership->fail(failure)) announce(*membership);
    membership->is_delivered = true;
  }
  abandon_transport();
}

void Monitor::ask_other_hosts(Membership& membership, std::int64_t reply_timeout_ns) {
  send_to(membership, membership.ranks_to_ask(reply_timeout_ns),
          {.kind = ControlMessage::Kind::kQuestion, .communicator = membership.id()});
}

Result Monitor::failure() {
  const MutexLock lock(mutex_);
  for (const auto& [id, membership] : memberships_) {
    if (membership->has_failed()) return membership->failure();
  }
  return Result::ok();
}

void Monitor::send_to(Membership& membership, const std::vector<int>& ranks,
                      const ControlMessage& message) {
  const std::string text = message.to_text();
  for (const int rank : ranks) transport_.notify(membership.job_rank(rank), text);
}

void Monitor::report(const Result& failure) {
  const MutexLock lock(report_mutex_);
  if (reported_ == failure.message()) return;
  reported_ = failure.message();
  log::error("{} {}", failure.code(), failure.message());
  recorder_.events().write("failure", {{"code", failure.code()}, {"message", failure.message()}});
  recorder_.write_flight(failure.code() + " " + failure.message());
  // A lost rank will not reach the end of the transport either.
  const bool is_lost = failure.code() == "DDL-4-04" || failure.code() == kAbandoned;
  if (failure.kind() == ErrorKind::kTimeout || is_lost) abandon_transport();
}

void Monitor::end_program_that_does_not_react(const Membership& membership) const {
  if (!aborts_ || membership.is_delivered || now_ns() - membership.failed_ns() < kReactionTime)
    return;
  log::error("DDL-4-12 The program has not called the library since; it is ended with code {}.",
             kExitCode);
  recorder_.flush();
  ::_exit(kExitCode);
}

void Monitor::loop() {
  log::set_tag(fmt::format("rank {}", transport_.rank()));
  while (!is_ending_) {
    sleep();
    const MutexLock lock(mutex_);
    const std::vector<int> dead = find_dead();
    // Handle messages sent before the process ended first: one may be a leave notice.
    while (const auto message = transport_.next_oob_message()) handle(*message);
    for (const int job_rank : dead) report_death(job_rank);
    look_for_lost_at_end();
    for (const auto& [id, membership] : memberships_) {
      const Result status = membership->look();
      if (status) continue;
      report(status);
      end_program_that_does_not_react(*membership);
    }
    recorder_.flush();
    if (const std::uint64_t now = signals; now != signals_seen_) {
      signals_seen_ = now;
      recorder_.write_flight("SIGUSR1");
    }
  }
}

// Sleeps until a process ends, the monitor is woken, or kInterval has passed.
void Monitor::sleep() {
  std::vector<pollfd> files = {{wake_file_, POLLIN, 0}};
  {
    const MutexLock lock(mutex_);
    for (const Process& process : processes_) {
      if (process.file >= 0 && !process.has_ended) files.push_back({process.file, POLLIN, 0});
    }
    keepalive_ring_.add_files(files);
  }
  ::poll(files.data(), files.size(), kInterval);
  if (files[0].revents) {
    eventfd_t ignored = 0;
    ::eventfd_read(wake_file_, &ignored);
  }
}

// A remote rank may have exited because of a failure that it also reports in a control message. That message can arrive
// after the connection closes, so the death is reported only after kMessageTime.
std::vector<int> Monitor::find_dead() {
  const std::int64_t now = now_ns();
  for (const int job_rank : keepalive_ring_.find_dead()) cut_off_ns_.emplace(job_rank, now);
  std::vector<int> dead;
  for (const auto& [job_rank, since] : cut_off_ns_) {
    if (now - since >= kMessageTime) dead.push_back(job_rank);
  }
  for (const int job_rank : dead) cut_off_ns_.erase(job_rank);
  for (Process& process : processes_) {
    if (process.has_ended) continue;
    pollfd file{process.file, POLLIN, 0};
    process.has_ended = process.file >= 0 ? ::poll(&file, 1, 0) > 0 && file.revents
                                          : is_dead(process_state(process.id));
    if (!process.has_ended) continue;
    for (const int job_rank : process.job_ranks) ended_ns_.emplace(job_rank, now);
    dead.insert(dead.end(), process.job_ranks.begin(), process.job_ranks.end());
  }
  return dead;
}

// Fails the communicators that the dead rank had not left, here and on other hosts, then notifies all ranks of the job,
// which may share other communicators with it. If the program exited because of an earlier failure, that failure is
// sent instead of the death.
void Monitor::report_death(int job_rank) {
  Result first = Result::ok();  // of the oldest communicator, which contains all ranks of the job
  for (const auto& [id, membership] : memberships_) {
    const int rank = membership->rank_of_job(job_rank);
    const Result death = rank < 0 ? Result::ok() : death_of(rank, *membership);
    if (death) continue;
    if (membership->look() && membership->fail(first ? death : first)) announce(*membership);
    if (first) first = membership->failure();
  }
  if (!first) notify_death(job_rank, first);
}

void Monitor::notify_death(int job_rank, const Result& failure) {
  abandon_transport();
  const ControlMessage message{
      .kind = ControlMessage::Kind::kDeath, .failure = failure, .dead_rank = job_rank};
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (peer != transport_.rank()) transport_.notify(peer, message.to_text());
  }
}

// A rank that exits without waiting for this one aborts the wait, whatever the reason.
void Monitor::look_for_lost_at_end() {
  if (!expects_end_) return;
  for (const auto& [job_rank, since] : ended_ns_) {
    if (now_ns() - since < kEndTime) continue;
    Result failure = Result::failure(
        ErrorKind::kComm, "DDL-4-04",
        fmt::format("Rank {} has exited before all ranks reached the end of the job.", job_rank));
    for (const auto& [id, membership] : memberships_) {
      const bool is_new = membership->rank_of_job(job_rank) >= 0 && membership->fail(failure);
      if (is_new) report(failure);
    }
    notify_death(job_rank, failure);
    ended_ns_.clear();
    return;
  }
}

Result Monitor::death_of(int rank, const Membership& membership) {
  const int member = membership.host().index_of(rank);
  const auto report =
      member >= 0 ? membership.local_report(member, false) : membership.last_report(rank, 1);
  if (report && report->has_left) return Result::ok();
  const std::string seen = member >= 0 ? fmt::format(" (process {}) is dead; its last report: {}",
                                                     report->process, report->activity())
                                       : " is dead or cut off: its connection broke";
  return Result::failure(ErrorKind::kComm, "DDL-4-04",
                         fmt::format("Rank {} on {}{}.", rank, membership.host_of(rank), seen));
}

void Monitor::handle(const OutOfBandMessage& received) {
  const auto message = ControlMessage::parse(received.text);
  if (!message) return;
  if (message->kind == ControlMessage::Kind::kDeath) {
    abandon_transport();
    for (const auto& [id, membership] : memberships_) {
      if (membership->rank_of_job(message->dead_rank) >= 0 && membership->fail(message->failure)) {
        report(message->failure);
      }
    }
    return;
  }
  const auto found = memberships_.find(message->communicator);
  if (found == memberships_.end()) return;
  Membership& membership = *found->second;
  switch (message->kind) {
    case ControlMessage::Kind::kQuestion: answer(received.from, membership); break;
    case ControlMessage::Kind::kFailure:
      if (membership.fail(message->failure)) report(message->failure);
      break;
    case ControlMessage::Kind::kReports:
      for (const RankReport& report : message->reports) membership.record(report);
      break;
    case ControlMessage::Kind::kDeath: break;
  }
}

void Monitor::answer(int asker, const Membership& membership) {
  const ControlMessage message{.kind = ControlMessage::Kind::kReports,
                               .communicator = membership.id(),
                               .reports = membership.local_reports()};
  transport_.notify(asker, message.to_text());
}

}  // namespace tutti::comm
