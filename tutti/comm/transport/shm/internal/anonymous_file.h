// Files that exist only while somebody holds them open, to be mapped by several processes.
#pragma once

namespace tutti::comm::internal {

// The file descriptor (closed on exec) of a new empty file in memory, or -1 with errno set. Takes a
// memfd; where the kernel or a sandbox has none, a file in /dev/shm, then in /tmp.
int open_nameless_file();

// The same in a given folder.
int open_nameless_file_in(const char* folder);

}  // namespace tutti::comm::internal
