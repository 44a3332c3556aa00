// State of another process on this host.
#pragma once

#include <sys/types.h>

namespace tutti::comm {

// State letter of /proc/<pid>/stat: R running, S sleeping, T stopped, Z zombie; 0 if the process no longer exists.
char process_state(pid_t process);

inline bool is_dead(char process_state) {
  return process_state == 0 || process_state == 'Z' || process_state == 'X';
}
inline bool is_stopped(char process_state) {
  return process_state == 'T' || process_state == 't';
}

// Returns a file descriptor that becomes readable when the process ends, even before it is reaped. Returns -1 if the
// kernel does not support pidfd_open or the process no longer exists. The caller closes it.
int open_pidfd(pid_t process);

}  // namespace tutti::comm
