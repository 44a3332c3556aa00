// All descendants of a process, including daemons.
//
// A launcher must leave nothing behind, but a process can leave its process group and session (setsid) and outlive its
// parent. Two mechanisms reach such processes:
//
// - Subreaper. After become_subreaper(), the kernel makes orphaned descendants children of this process. They then show
//   up in the tree of parent ids in /proc, which descendants() walks.
// - Environment. A variable with a unique value, such as the secret of the job, is inherited by all descendants.
//   kill_processes_with() searches /proc/<pid>/environ for it, also when the ancestor that started them has exited.
//
// A process may fork while it is being killed, so both kill functions repeat until no process is left.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tutti::os {

// Makes orphaned descendants of the calling process its children from now on (PR_SET_CHILD_SUBREAPER), so descendants()
// finds them.
void become_subreaper();

// Descendants of the calling process, parents before children.
std::vector<pid_t> descendants();

// Sends `signal` to all descendants.
void signal_descendants(int signal);

// Kills all descendants, including those started meanwhile, and reaps them. Blocks for at most `seconds`. Exit codes
// are lost. Requires become_subreaper() to reach orphans.
void kill_descendants(double seconds);

// Kills all processes of this user that were started with `entry` ("NAME=value") in their environment, except the
// calling one. Repeats until none is left, for at most `seconds`. Returns the largest number found in one pass.
int kill_processes_with(const std::string& entry, double seconds);

}  // namespace tutti::os
