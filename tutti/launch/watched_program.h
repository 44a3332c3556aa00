// A program whose output and end are told over a connection, and that does not outlive it.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <vector>

#include "tutti/launch/process.h"

namespace tutti::launch {

// Signals that are meant for the program, or end it.
inline constexpr std::array kWatchedSignals = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

// Replaces this process by the program; with its excuse and code 127 when there is none.
[[noreturn]] void become_program(const std::vector<std::string>& words);

// Starts the program with the signal mask `old_signals`, sends what it prints to `home`, and at
// last how it ended. kStop, the end of the connection, SIGTERM, SIGINT or SIGHUP end the program
// and all that it has started: they are asked to, and killed 2 s later. Whatever it leaves running
// is killed. Returns the exit code, 128 + signal for a killed one.
int run_watched(File home, const std::vector<std::string>& words, const sigset_t& old_signals);

}  // namespace tutti::launch
