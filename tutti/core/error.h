// Exception types of the library.
//
// Every exception has a code (`DDL-4-02`) and a message that says what is wrong and what to do. what() returns both.
// error_codes.toml lists all codes; docs/reference/errors.md is generated from it.
#pragma once

#include <stdexcept>
#include <string>

namespace tutti {

enum class ErrorKind { kConfig, kComm, kTimeout, kMemory, kIo, kCompute };

// Base class. `code` is one of error_codes.toml and never changes its meaning; messages may change.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string code, const std::string& message)
      : std::runtime_error(code + " " + message), kind_(kind), code_(std::move(code)) {}
  ErrorKind kind() const { return kind_; }
  const std::string& code() const { return code_; }

 private:
  ErrorKind kind_;
  std::string code_;
};

// Invalid argument or unsupported combination: an option, file, dimension or count.
struct ConfigError : Error {
  ConfigError(std::string code, const std::string& message)
      : Error(ErrorKind::kConfig, std::move(code), message) {}
};
// The ranks disagree on an operation, or a rank has exited.
struct CommError : Error {
  CommError(std::string code, const std::string& message)
      : Error(ErrorKind::kComm, std::move(code), message) {}
};
// A rank did not reach an operation before the timeout.
struct TimeoutError : Error {
  TimeoutError(std::string code, const std::string& message)
      : Error(ErrorKind::kTimeout, std::move(code), message) {}
};
// Memory could not be allocated, shared or mapped by a peer.
struct MemoryError : Error {
  MemoryError(std::string code, const std::string& message)
      : Error(ErrorKind::kMemory, std::move(code), message) {}
};
// A system call on a file, socket or process failed, or a file is damaged.
struct IoError : Error {
  IoError(std::string code, const std::string& message)
      : Error(ErrorKind::kIo, std::move(code), message) {}
};

// A computation has no usable result, such as a loss or gradient that is not finite.
struct ComputeError : Error {
  ComputeError(std::string code, const std::string& message)
      : Error(ErrorKind::kCompute, std::move(code), message) {}
};

// Throws the subclass of Error for `kind`.
[[noreturn]] void throw_error(ErrorKind kind, std::string code, const std::string& message);

}  // namespace tutti
