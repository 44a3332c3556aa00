// Anonymous files: files without a name that several processes map.
#pragma once

namespace tutti::comm::internal {

// Returns the file descriptor (close-on-exec) of a new empty file in memory, or -1 with errno set. Uses memfd; if the
// kernel or a sandbox forbids it, a file in /dev/shm or /tmp.
int open_anonymous_file();

// The same in a given directory.
int open_anonymous_file_in(const char* folder);

}  // namespace tutti::comm::internal
