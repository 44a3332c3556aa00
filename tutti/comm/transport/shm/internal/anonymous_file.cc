#include "tutti/comm/transport/shm/internal/anonymous_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace tutti::comm::internal {

int open_anonymous_file() {
  // New kernels may require memory that is not executable; old kernels do not know the flag.
  for (const unsigned extra : {MFD_NOEXEC_SEAL, 0U}) {
    const int file = memfd_create("tutti", MFD_CLOEXEC | extra);
    if (file >= 0) return file;
  }
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    const int file = open_anonymous_file_in(folder);
    if (file >= 0) return file;
  }
  return -1;
}

int open_anonymous_file_in(const char* folder) {
  const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // The file system has no O_TMPFILE: create a named file and unlink it.
  std::string name = std::string(folder) + "/tutti-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace tutti::comm::internal
