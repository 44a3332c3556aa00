#include "tutti/io/read_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::io {

std::unique_ptr<ReadQueue> ReadQueue::open(const std::filesystem::path& path, Engine engine) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (file < 0 && errno == EINVAL) file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throw IoError("DDL-9-02", fmt::format("{}: cannot open the file: {}.", path.string(),
                                          std::strerror(errno)));
  return std::unique_ptr<ReadQueue>(new ReadQueue(path.string(), file, engine));
}

ReadQueue::ReadQueue(std::string path, int file, Engine engine)
    : path_(std::move(path)), file_(file) {
  try {
    queue_ = FileQueue::create(file, engine);
  } catch (...) {
    ::close(file);
    throw;
  }
}

ReadQueue::~ReadQueue() {
  queue_.reset();
  ::close(file_);
}

void ReadQueue::wait(std::int64_t id) {
  queue_->wait(id);
  const int result = queue_->result(id);
  if (result == FileQueue::kEndOfFile)
    throw IoError("DDL-9-02", fmt::format("{}: the file was truncated while it was read.", path_));
  if (result != 0)
    throw IoError("DDL-9-02",
                  fmt::format("{}: cannot read the file: {}.", path_, std::strerror(result)));
}

}  // namespace tutti::io
