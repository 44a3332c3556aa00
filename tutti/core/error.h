// Exception types of the library. Each exception has a code (`DDL-4-02`) and a message that says
// what is wrong and what to do. error_codes.toml lists all codes; the reference page
// docs/reference/errors.md is generated from it.
#pragma once

#include <stdexcept>
#include <string>

namespace tutti {

enum class ErrorKind { kConfig, kComm, kTimeout, kMemory, kIo, kCompute };

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

// What the user asked for cannot be: a wrong option, file, dimension, count.
struct ConfigError : Error {
  ConfigError(std::string code, const std::string& message)
      : Error(ErrorKind::kConfig, std::move(code), message) {}
};
// Ranks disagree, or one of them is gone.
struct CommError : Error {
  CommError(std::string code, const std::string& message)
      : Error(ErrorKind::kComm, std::move(code), message) {}
};
// A rank did not come in the time allowed.
struct TimeoutError : Error {
  TimeoutError(std::string code, const std::string& message)
      : Error(ErrorKind::kTimeout, std::move(code), message) {}
};
// Memory could not be had, shared or shown to a peer.
struct MemoryError : Error {
  MemoryError(std::string code, const std::string& message)
      : Error(ErrorKind::kMemory, std::move(code), message) {}
};
// The operating system refused a file, a socket or a process.
struct IoError : Error {
  IoError(std::string code, const std::string& message)
      : Error(ErrorKind::kIo, std::move(code), message) {}
};

// A computation has no usable result: a loss or gradient that is not finite.
struct ComputeError : Error {
  ComputeError(std::string code, const std::string& message)
      : Error(ErrorKind::kCompute, std::move(code), message) {}
};

// Throws the subclass of Error that belongs to `kind`.
[[noreturn]] void throw_error(ErrorKind kind, std::string code, const std::string& message);

}  // namespace tutti
