// Whether another process of this host lives.
#pragma once

#include <sys/types.h>

namespace tutti::comm {

// The letter of /proc/<pid>/stat: R running, S sleeping, T stopped, Z dead but not yet waited for;
// 0: gone.
char process_state(pid_t process);

inline bool is_dead(char process_state) {
  return process_state == 0 || process_state == 'Z' || process_state == 'X';
}
inline bool is_stopped(char process_state) {
  return process_state == 'T' || process_state == 't';
}

// A file that becomes readable when the process ends, even while nobody has waited for it; -1 when
// the kernel has no such thing or the process is gone.
int open_pidfd(pid_t process);

}  // namespace tutti::comm
