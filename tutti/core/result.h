// Success or a typed failure, returned where exceptions must not be thrown: in transports and background threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tutti/core/error.h"

namespace tutti {

// Success, or a failure with kind, code and message. The caller at the edge of the library turns a failure into an
// exception with throw_if_error().
class [[nodiscard]] Result {
 public:
  static Result ok() { return Result(); }
  static Result failure(ErrorKind kind, std::string code, std::string message);
  // A failure with the kind, code and message of `error`.
  static Result from(const Error& error);

  bool is_ok() const { return !failure_; }
  explicit operator bool() const { return is_ok(); }

  // Adds context in front of the message of a failure: "reading x: connection reset".
  Result with_context(const std::string& context) &&;

  // Calls `next` if this is a success, else returns this failure: `open() << [&] { return read(); }`.
  template <class Next>
  Result operator<<(Next&& next) && {
    return is_ok() ? std::forward<Next>(next)() : std::move(*this);
  }

  // Only for failures.
  ErrorKind kind() const { return failure_->kind; }
  const std::string& code() const { return failure_->code; }
  const std::string& message() const { return failure_->message; }

  // Throws the matching subclass of Error if this is a failure.
  void throw_if_error() const;

 private:
  struct Failure {
    ErrorKind kind;
    std::string code, message;
  };
  std::optional<Failure> failure_;
};

}  // namespace tutti
