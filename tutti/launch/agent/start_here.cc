// Starts the ranks of a single-host job without MPI.
#include <signal.h>

#include <list>

#include "tutti/core/error.h"
#include "tutti/launch/agent/agent.h"
#include "tutti/os/launcher_environment.h"
#include "tutti/os/process.h"

namespace tutti::launch {
namespace {

os::Process start_rank(int rank, int count, const std::vector<std::string>& arguments) {
  return os::Process(
      {.arguments = arguments,
       .environment = os::entries_of(os::torch_variables({rank, count, rank, count})),
       .input = os::ProcessSpec::Input::kInherit,
       .output = os::ProcessSpec::Output::kInherit,
       .is_group = false});
}

}  // namespace

int start_here(int count, const std::vector<std::string>& arguments) {
  if (count < 1 || arguments.empty()) {
    throw ConfigError("DDL-3-01", "--start-here needs a number of ranks and a program.");
  }
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  os::unset_rank_variables();
  std::list<os::Process> running;
  for (int rank = 0; rank < count; ++rank) running.push_back(start_rank(rank, count, arguments));
  int code = 0;
  const auto end_all = [&] {
    for (const os::Process& process : running) ::kill(process.id(), SIGTERM);
  };
  while (!running.empty()) {
    int signal = 0;
    ::sigwait(&signals, &signal);
    if (signal != SIGCHLD) end_all();
    const int before = code;
    running.remove_if([&](os::Process& process) {
      if (!process.has_ended()) return false;
      if (code == 0) code = process.exit_code();
      return true;
    });
    if (before == 0 && code != 0) end_all();
  }
  return code;
}

}  // namespace tutti::launch
