#include "tutti/train/run/local_ranks.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"

namespace tutti::train {
namespace {

constexpr double kLastWordsSeconds = 2;

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// Rank r of n gets the r-th n-th of the processors; when there are more ranks than processors, all
// may run everywhere.
cpu_set_t share_of(const std::vector<int>& cpus, int rank, int ranks) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = static_cast<int>(cpus.size());
  const int first = count >= ranks ? rank * count / ranks : 0;
  const int last = count >= ranks ? (rank + 1) * count / ranks : count;
  for (int i = first; i < last; ++i) CPU_SET(cpus[static_cast<std::size_t>(i)], &set);
  return set;
}

[[noreturn]] void become_rank(const LocalRanks& job, int rank, const cpu_set_t& cpus,
                              const std::string& job_id, const sigset_t& mask) {
  setpgid(0, 0);  // what it starts goes with it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sched_setaffinity(0, sizeof cpus, &cpus);
  const std::string number = std::to_string(rank), size = std::to_string(job.ranks);
  for (const auto& [name, value] :
       {std::pair("RANK", number), std::pair("LOCAL_RANK", number), std::pair("WORLD_SIZE", size),
        std::pair("LOCAL_WORLD_SIZE", size), std::pair("TUTTI_JOB", job_id)})
    setenv(name, value.c_str(), 1);
  for (const std::string& entry : job.environment) putenv(strdup(entry.c_str()));
  std::vector<char*> argv;
  for (const std::string& argument : job.arguments) argv.push_back(strdup(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  fmt::print(stderr, "cannot start {}: {}\n", argv[0], strerror(errno));
  _exit(127);
}

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class Children {
 public:
  void add(int rank, pid_t pid) { children_.push_back({rank, pid}); }
  bool any() const { return !children_.empty(); }
  void signal(int number) const {
    for (const Child& child : children_) kill(-child.pid, number);
  }
  // Takes those that have ended; returns the code of the first that failed, or 0.
  int reap(bool is_killed_by_us) {
    int code = 0;
    std::erase_if(children_, [&](const Child& child) {
      int status = 0;
      if (waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
      kill(-child.pid, SIGKILL);  // what it left behind
      if (!is_killed_by_us) complain(child.rank, status);
      if (code == 0) code = exit_code(status);
      return true;
    });
    return code;
  }

 private:
  struct Child {
    int rank;
    pid_t pid;
  };
  // A rank that is killed has no last words of its own.
  static void complain(int rank, int status) {
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == 0 || number == SIGINT || number == SIGTERM || number == SIGHUP) return;
    fmt::print(stderr, "DDL-3-62 Rank {} was ended by signal {} ({}).{}\n", rank, number,
               strsignal(number),
               number == SIGKILL
                   ? " If nobody did that, the host ran out of memory: lower `batch`, or take "
                     "fewer --ranks."
                   : "");
    fflush(stderr);
  }
  std::vector<Child> children_;
};

}  // namespace

int run_local_ranks(const LocalRanks& job) {
  sigset_t wanted, before;
  sigemptyset(&wanted);
  for (int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, number);
  sigprocmask(SIG_BLOCK, &wanted, &before);
  const std::vector<int> cpus = usable_cpus();
  const std::string job_id = fmt::format("train-{}-{}", getpid(), now_ns());
  Children children;
  fflush(nullptr);
  for (int rank = 0; rank < job.ranks; ++rank) {
    const cpu_set_t share = share_of(cpus, rank, job.ranks);
    const pid_t pid = fork();
    if (pid == 0) become_rank(job, rank, share, job_id, before);
    if (pid < 0) {
      children.signal(SIGKILL);
      throw IoError("DDL-3-60", fmt::format("Cannot start rank {}: {}.", rank, strerror(errno)));
    }
    setpgid(pid, pid);  // whichever of the two is first
    children.add(rank, pid);
  }
  int code = 0;
  Stopwatch since_failure;
  for (bool is_killed = false; children.any();) {
    const timespec patience{0, 200'000'000};
    const int number = sigtimedwait(&wanted, nullptr, &patience);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) children.signal(number);
    if (const int failed = children.reap(is_killed); failed != 0 && code == 0) {
      code = failed;
      since_failure.restart();
    }
    if (code != 0 && !is_killed && since_failure.seconds() > kLastWordsSeconds) {
      children.signal(SIGKILL);
      is_killed = true;
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

}  // namespace tutti::train
