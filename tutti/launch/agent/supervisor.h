// Runs a program whose output and exit are reported over a connection, and which does not outlive the connection.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <vector>

#include "tutti/launch/net/frames.h"
#include "tutti/os/process.h"

namespace tutti::launch {

// Signals that are forwarded to the program or end it.
inline constexpr std::array kWatchedSignals = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

// Replaces this process by the program; exits with 127 and a message if the program cannot be started.
[[noreturn]] void exec_program(const std::vector<std::string>& arguments);

// Starts the program with the signal mask `old_signals` and relays its output and exit over `connection`, as described
// in frames.h. The program and all its descendants are ended by kStop, the loss of the connection, SIGTERM, SIGINT or
// SIGHUP: they get SIGTERM, and SIGKILL 2 s later. Descendants that the program leaves running are killed. Returns the
// exit code, or 128 + signal if the program was killed.
int supervise(os::UniqueFd connection, const Welcome& welcome,
              const std::vector<std::string>& arguments, const sigset_t& old_signals);

}  // namespace tutti::launch
