// Ranks of this machine without MPI.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tutti/core/error.h"
#include "tutti/launch/agent.h"
#include "tutti/launch/rank_identity.h"

namespace tutti::launch {
namespace {

pid_t start_rank(int rank, int count, std::vector<std::string> words, const sigset_t& signals) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  forget_rank();
  for (const auto& [name, value] : torch_variables({rank, count, rank, count})) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

int start_here(int count, const std::vector<std::string>& words) {
  if (count < 1 || words.empty()) {
    throw ConfigError("DDL-3-01", "--start-here needs a number of ranks and a program.");
  }
  sigset_t signals, old_signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &old_signals);
  std::vector<pid_t> running;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t process = start_rank(rank, count, words, old_signals);
    if (process > 0) running.push_back(process);
  }
  int code = static_cast<int>(running.size()) == count ? 0 : 1;
  const auto end_all = [&] {
    for (const pid_t process : running) ::kill(process, SIGTERM);
  };
  if (code != 0) end_all();
  while (!running.empty()) {
    int signal = 0, status = 0;
    ::sigwait(&signals, &signal);
    if (signal != SIGCHLD) end_all();
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      std::erase(running, ended);
      const int one = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      if (one == 0 || code != 0) continue;
      code = one;
      end_all();
    }
  }
  return code;
}

}  // namespace tutti::launch
