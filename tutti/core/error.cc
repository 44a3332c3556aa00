#include "tutti/core/error.h"

#include <utility>

namespace tutti {

void throw_error(ErrorKind kind, std::string code, const std::string& message) {
  switch (kind) {
    case ErrorKind::kConfig: throw ConfigError(std::move(code), message);
    case ErrorKind::kComm: throw CommError(std::move(code), message);
    case ErrorKind::kTimeout: throw TimeoutError(std::move(code), message);
    case ErrorKind::kMemory: throw MemoryError(std::move(code), message);
    case ErrorKind::kIo: throw IoError(std::move(code), message);
    case ErrorKind::kCompute: throw ComputeError(std::move(code), message);
  }
  throw Error(kind, std::move(code), message);
}

}  // namespace tutti
