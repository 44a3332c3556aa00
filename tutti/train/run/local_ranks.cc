#include "tutti/train/run/local_ranks.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <list>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/os/cpus.h"
#include "tutti/os/launcher_environment.h"
#include "tutti/os/process.h"

namespace tutti::train {
namespace {

constexpr double kGraceSeconds = 2;

// Rank r of n gets the r-th of n shares of the CPUs; with more ranks than CPUs, all may run everywhere.
std::vector<int> share_of(const std::vector<int>& cpus, int rank, int ranks) {
  const auto count = static_cast<int>(cpus.size());
  if (count < ranks) return cpus;
  return {cpus.begin() + rank * count / ranks, cpus.begin() + (rank + 1) * count / ranks};
}

os::Process start_rank(const LocalRanks& job, int rank, const std::vector<int>& cpus,
                       const std::string& job_id) {
  os::ProcessSpec spec{
      .arguments = job.arguments,
      .environment = os::entries_of(os::torch_variables({rank, job.ranks, rank, job.ranks})),
      .cpus = share_of(cpus, rank, job.ranks),
      .input = os::ProcessSpec::Input::kInherit,
      .output = os::ProcessSpec::Output::kInherit};
  spec.environment.push_back("TUTTI_JOB=" + job_id);
  spec.environment.insert(spec.environment.end(), job.environment.begin(), job.environment.end());
  try {
    return os::Process(spec);
  } catch (const IoError& error) {
    throw IoError("DDL-3-60", fmt::format("Cannot start rank {}: {}", rank, error.what()));
  }
}

class Ranks {
 public:
  void add(int rank, os::Process process) { ranks_.push_back({rank, std::move(process)}); }
  bool any() const { return !ranks_.empty(); }
  void signal(int number) const {
    for (const Rank& rank : ranks_) rank.process.signal_group(number);
  }
  // Reaps ranks that have exited; returns the code of the first that failed, or 0.
  int reap(bool is_killed_by_us) {
    int code = 0;
    ranks_.remove_if([&](Rank& rank) {
      if (!rank.process.has_ended()) return false;
      if (!is_killed_by_us) report_signal(rank.number, rank.process.end_signal());
      if (code == 0) code = rank.process.exit_code();
      return true;
    });
    return code;
  }

 private:
  struct Rank {
    int number;
    os::Process process;
  };
  // A killed rank cannot report it itself.
  static void report_signal(int rank, int number) {
    if (number == 0 || number == SIGINT || number == SIGTERM || number == SIGHUP) return;
    fmt::print(stderr, "DDL-3-62 Rank {} was killed by signal {} ({}).{}\n", rank, number,
               strsignal(number),
               number == SIGKILL ? " Unless it was sent on purpose, the host ran out of memory: "
                                   "lower `batch`, or use fewer --ranks."
                                 : "");
    fflush(stderr);
  }
  std::list<Rank> ranks_;
};

}  // namespace

int run_local_ranks(const LocalRanks& job) {
  sigset_t wanted, before;
  sigemptyset(&wanted);
  for (int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, number);
  sigprocmask(SIG_BLOCK, &wanted, &before);
  const std::vector<int> cpus = os::allowed_cpus();
  const std::string job_id = fmt::format("train-{}-{}", getpid(), now_ns());
  Ranks ranks;
  fflush(nullptr);
  for (int rank = 0; rank < job.ranks; ++rank) ranks.add(rank, start_rank(job, rank, cpus, job_id));
  int code = 0;
  Stopwatch since_failure;
  for (bool is_killed = false; ranks.any();) {
    const timespec timeout{0, 200'000'000};
    const int number = sigtimedwait(&wanted, nullptr, &timeout);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) ranks.signal(number);
    if (const int failed = ranks.reap(is_killed); failed != 0 && code == 0) {
      code = failed;
      since_failure.restart();
    }
    if (code != 0 && !is_killed && since_failure.seconds() > kGraceSeconds) {
      ranks.signal(SIGKILL);
      is_killed = true;
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

}  // namespace tutti::train
