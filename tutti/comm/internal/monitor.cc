#include "tutti/comm/internal/monitor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "tutti/comm/internal/process.h"
#include "tutti/core/log.h"

namespace tutti::comm {

Monitor::Monitor(Transport& transport)
    : transport_(transport), wake_file_(::eventfd(0, EFD_CLOEXEC)) {}

Monitor::~Monitor() {
  is_ending_ = true;
  ::eventfd_write(wake_file_, 1);
  if (thread_.joinable()) thread_.join();
  for (const Process& process : processes_) {
    if (process.file >= 0) ::close(process.file);
  }
  ::close(wake_file_);
}

void Monitor::add(Roster& roster) {
  const std::lock_guard lock(mutex_);
  rosters_[roster.id()] = &roster;
  for (int member = 0; member < roster.host().size(); ++member) {
    const int id = static_cast<int>(roster.host().board().block(member).process.load());
    if (id == ::getpid()) continue;  // this rank, or another that is a thread beside it
    auto process = std::find_if(processes_.begin(), processes_.end(),
                                [id](const Process& known) { return known.id == id; });
    if (process == processes_.end()) {
      process = processes_.insert(process, {.id = id, .file = open_process(id)});
    }
    const int job_rank = roster.job_rank(roster.host().ranks()[member]);
    std::erase(process->job_ranks, job_rank);
    process->job_ranks.push_back(job_rank);
  }
  if (!thread_.joinable() && transport_.size() > 1) thread_ = std::thread([this] { loop(); });
  ::eventfd_write(wake_file_, 1);
}

void Monitor::remove(Roster& roster) {
  const std::lock_guard lock(mutex_);
  rosters_.erase(roster.id());
  const HostGroup& host = roster.host();
  host.board().block(host.index()).has_left.store(1);
  News goodbye{.kind = News::Kind::kReports, .communicator = roster.id()};
  for (int member = 0; member < host.size(); ++member) {
    goodbye.reports.push_back(roster.local_report(member, false));
    if (!goodbye.reports.back().has_left) return;
  }
  tell(roster, roster.ranks_elsewhere(), goodbye);
}

void Monitor::announce(Roster& roster) {
  const Result failure = roster.failure();
  print(failure);
  tell(roster, roster.ranks_elsewhere(),
       {.kind = News::Kind::kFailure, .communicator = roster.id(), .failure = failure});
}

void Monitor::ask_other_hosts(Roster& roster, std::int64_t patience_ns) {
  tell(roster, roster.ranks_to_ask(patience_ns),
       {.kind = News::Kind::kQuestion, .communicator = roster.id()});
}

Result Monitor::failure() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, roster] : rosters_) {
    if (roster->has_failed()) return roster->failure();
  }
  return Result::ok();
}

void Monitor::tell(Roster& roster, const std::vector<int>& ranks, const News& news) {
  const std::string text = news.to_text();
  for (const int rank : ranks) transport_.notify(roster.job_rank(rank), text);
}

void Monitor::print(const Result& failure) {
  const std::lock_guard lock(print_mutex_);
  if (printed_ == failure.message()) return;
  printed_ = failure.message();
  log::error("{} {}", failure.code(), failure.message());
}

void Monitor::loop() {
  log::set_tag(fmt::format("rank {}", transport_.rank()));
  while (!is_ending_) {
    sleep();
    const std::lock_guard lock(mutex_);
    find_dead();
    while (const auto notice = transport_.next_notice()) handle(*notice);
    for (const auto& [id, roster] : rosters_) {
      const Result told = roster->look();
      if (!told) print(told);
    }
  }
}

// Until a process ends, the monitor is woken, or it is time to look for notices.
void Monitor::sleep() {
  std::vector<pollfd> files = {{wake_file_, POLLIN, 0}};
  {
    const std::lock_guard lock(mutex_);
    for (const Process& process : processes_) {
      if (process.file >= 0 && !process.is_dead) files.push_back({process.file, POLLIN, 0});
    }
  }
  ::poll(files.data(), files.size(), kInterval);
  if (files[0].revents) {
    eventfd_t ignored = 0;
    ::eventfd_read(wake_file_, &ignored);
  }
}

void Monitor::find_dead() {
  for (Process& process : processes_) {
    if (process.is_dead) continue;
    pollfd file{process.file, POLLIN, 0};
    const bool has_ended = process.file >= 0 ? ::poll(&file, 1, 0) > 0 && file.revents
                                             : is_dead(process_state(process.id));
    if (has_ended) bury(process);
  }
}

// Fails the communicators that the process had not left, here and on other hosts; then tells all
// ranks of the job, which may share others with it.
void Monitor::bury(Process& process) {
  process.is_dead = true;
  for (const int job_rank : process.job_ranks) {
    Result first = Result::ok();
    for (const auto& [id, roster] : rosters_) {
      const int rank = roster->rank_of_job(job_rank);
      const int member = rank < 0 ? -1 : roster->host().index_of(rank);
      if (member < 0) continue;
      const RankReport report = roster->local_report(member, false);
      if (report.has_left) continue;
      const Result failure =
          Result::failure(ErrorKind::kComm, "DDL-4-04",
                          fmt::format("Rank {} on {} (process {}) is dead; when last seen it {}.",
                                      rank, roster->host_of(rank), process.id, report.place()));
      if (roster->fail(failure)) announce(*roster);
      if (first) first = failure;  // the oldest communicator's: its ranks are those of the job
    }
    if (first) continue;
    const News news{.kind = News::Kind::kDeath, .failure = first, .dead_rank = job_rank};
    for (int peer = 0; peer < transport_.size(); ++peer) {
      if (peer != transport_.rank()) transport_.notify(peer, news.to_text());
    }
  }
}

void Monitor::handle(const Notice& notice) {
  const auto news = News::parse(notice.text);
  if (!news) return;
  if (news->kind == News::Kind::kDeath) {
    for (const auto& [id, roster] : rosters_) {
      if (roster->rank_of_job(news->dead_rank) >= 0 && roster->fail(news->failure)) {
        print(news->failure);
      }
    }
    return;
  }
  const auto found = rosters_.find(news->communicator);
  if (found == rosters_.end()) return;
  Roster& roster = *found->second;
  switch (news->kind) {
    case News::Kind::kQuestion: answer(notice.from, roster); break;
    case News::Kind::kFailure:
      if (roster.fail(news->failure)) print(news->failure);
      break;
    case News::Kind::kReports:
      for (const RankReport& report : news->reports) roster.hear(report);
      break;
    case News::Kind::kDeath: break;
  }
}

void Monitor::answer(int asker, const Roster& roster) {
  const News news{
      .kind = News::Kind::kReports, .communicator = roster.id(), .reports = roster.local_reports()};
  transport_.notify(asker, news.to_text());
}

}  // namespace tutti::comm
