#include "tutti/learn/data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tutti/core/error.h"

namespace tutti::learn {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const auto fail = [&](const char* what) {
    throw IoError("DDL-9-02", fmt::format("{}: cannot {} the file: {}.", path.string(), what,
                                          std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("open");
  struct stat status = {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::size_t>(status.st_size);
  } else {
    ::close(file);
    throw IoError("DDL-9-02", fmt::format("{} is not a file.", path.string()));
  }
  if (size_ > 0) {
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (address == MAP_FAILED) fail("map");
    data_ = static_cast<const char*>(address);
  } else {
    ::close(file);
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

void MappedFile::advise(std::size_t offset, std::size_t bytes, bool is_wanted) const {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t start = offset / page * page;
  ::madvise(const_cast<char*>(data_) + start, offset + bytes - start,
            is_wanted ? MADV_WILLNEED : MADV_DONTNEED);
}

}  // namespace tutti::learn
