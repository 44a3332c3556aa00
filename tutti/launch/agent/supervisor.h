// A program whose output and exit are reported over a connection, and that does not outlive it.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <vector>

#include "tutti/launch/net/frames.h"
#include "tutti/os/process.h"

namespace tutti::launch {

// Signals that are meant for the program, or end it.
inline constexpr std::array kWatchedSignals = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

// Replaces this process by the program; exits with 127 and a message if it cannot be started.
[[noreturn]] void exec_program(const std::vector<std::string>& words);

// Starts the program with the signal mask `old_signals` and relays its output and exit over
// `connection`, as frames.h describes. kStop, the end of the connection, SIGTERM, SIGINT or SIGHUP
// end the program and all its descendants: they get SIGTERM, and SIGKILL 2 s later. Descendants
// that the program leaves running are killed. Returns the exit code, 128 + signal for a killed one.
int supervise(os::UniqueFd connection, const Welcome& welcome,
              const std::vector<std::string>& words, const sigset_t& old_signals);

}  // namespace tutti::launch
