// All that a process has started, however it hides: children, their children, daemons.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tutti::os {

// From now on orphans below the calling process become its children, so descendants() sees them.
void become_subreaper();

// Of the calling process, parents before children.
std::vector<pid_t> descendants();

// Sends `signal` to all of them.
void signal_descendants(int signal);

// Kills them until none is left, also those that are started meanwhile; waits for their end, at
// most `seconds`. Their exit codes are lost.
void kill_descendants(double seconds);

// Kills all processes of this user that were started with `entry`, "NAME=value", in their
// environment, except the calling one, until none is left, for at most `seconds`. Returns how many
// were found.
int kill_processes_with(const std::string& entry, double seconds);

}  // namespace tutti::os
