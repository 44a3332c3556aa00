#include "tutti/comm/internal/watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

// The letter of /proc/<pid>/stat: R running, S sleeping, T stopped, Z dead but not yet waited for,
// 0 gone.
char process_state(std::uint32_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(file, line)) return 0;
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? 0 : line[name_end + 2];
}

}  // namespace

Watch::Watch(Job& job, int rank, const topo::Layout& layout)
    : job_(job),
      rank_(rank),
      layout_(layout),
      timeout_ns_(static_cast<std::int64_t>(job.options.number("timeout") * 1e9)),
      stall_ns_(static_cast<std::int64_t>(job.options.number("stall_seconds") * 1e9)) {}

void Watch::begin(const OpRecord& record) {
  record_ = record;
  next_report_ns_ = stall_ns_;
}

Result Watch::ask(int rank, std::int64_t waited) {
  for (int member = 0; host_ && member < host_->size(); ++member) {
    Result verdict = check_member(member);
    if (!verdict) return verdict;
  }
  if (waited >= next_report_ns_) {
    report_stall(rank, waited);
    next_report_ns_ = waited * 2;
  }
  if (waited >= timeout_ns_) {
    return Result::failure(
        ErrorKind::kTimeout, "DDL-4-05",
        fmt::format(
            "Gave up {} after {:.1f} s: {}. Raise the option timeout if it only needs longer.",
            record_.text(), static_cast<double>(waited) * 1e-9, describe(rank)));
  }
  return Result::ok();
}

Result Watch::check_member(int member) const {
  const RankBlock& theirs = host_->board().block(member);
  const int rank = host_->ranks()[member];
  if (rank == rank_) return Result::ok();
  Result told = host_->board().failure_of(member);
  if (!told) return told;
  if (theirs.has_left.load() && theirs.completed.load() < record_.sequence) {
    return Result::failure(
        ErrorKind::kComm, "DDL-4-03",
        fmt::format("Rank {} on {} has ended its part of the job; rank {} waits for it in {}.",
                    rank, host_of(rank), rank_, record_.text()));
  }
  // Who left after this operation did its part, whether or not its process still runs.
  if (theirs.has_left.load()) return Result::ok();
  const std::uint32_t process = theirs.process.load();
  const bool is_dead = ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
  if (is_dead || process_state(process) == 'Z') {
    return Result::failure(
        ErrorKind::kComm, "DDL-4-04",
        fmt::format("Rank {} on {} (process {}) is dead; rank {} waits for it in {}.", rank,
                    host_of(rank), process, rank_, record_.text()));
  }
  const OpRecord record = host_->board().record_of(member);
  if (record.sequence == record_.sequence && !record.agrees_with(record_)) {
    return disagreement(rank_, record_, rank, record);
  }
  return Result::ok();
}

void Watch::report_stall(int rank, std::int64_t waited) {
  log::warning("DDL-4-06 waiting for {:.1f} s in {}: {}", static_cast<double>(waited) * 1e-9,
               record_.text(), describe(rank));
}

std::string Watch::describe(int rank) const {
  const int member = host_ ? host_->index_of(rank) : -1;
  if (member < 0) return fmt::format("rank {} on {} has not come", rank, host_of(rank));
  const RankBlock& theirs = host_->board().block(member);
  const OpRecord record = host_->board().record_of(member);
  const std::string place = theirs.is_inside.load() ? "is in " + record.text()
                            : record.sequence == 0
                                ? "has not called anything yet"
                                : "is outside the library since " + record.text();
  const char state = process_state(theirs.process.load());
  return fmt::format("rank {} on {} (process {}{}) {}", rank, host_of(rank), theirs.process.load(),
                     state == 'T' ? ", stopped by a signal" : "", place);
}

std::string Watch::host_of(int rank) const {
  for (const topo::Host& host : layout_.hosts) {
    for (const int member : host.ranks) {
      if (member == rank) return host.name;
    }
  }
  return "an unknown host";
}

}  // namespace tutti::comm
