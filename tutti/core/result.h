// What a step inside a transport or a thread gives back: success, or a failure with its causes.
// Never ignored (`[[nodiscard]]`), never thrown across a thread; the edge rethrows it with `raise`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tutti/core/error.h"

namespace tutti {

class [[nodiscard]] Result {
 public:
  static Result ok() { return Result(); }
  static Result failure(ErrorKind kind, std::string code, std::string message);
  // What `error` says, as a value.
  static Result from(const Error& error);

  bool is_ok() const { return !failure_; }
  explicit operator bool() const { return is_ok(); }

  // The same failure with the sentence of the caller in front: "reading x: connection reset".
  Result because(const std::string& context) &&;

  // Runs `next` only after success, so steps read in order: `open() << [&] { return read(); }`.
  template <class Next>
  Result operator<<(Next&& next) && {
    return is_ok() ? std::forward<Next>(next)() : std::move(*this);
  }

  // The following may be called on failures only.
  ErrorKind kind() const { return failure_->kind; }
  const std::string& code() const { return failure_->code; }
  const std::string& message() const { return failure_->message; }

  // Throws the typed error when this is a failure.
  void raise() const;

 private:
  struct Failure {
    ErrorKind kind;
    std::string code, message;
  };
  std::optional<Failure> failure_;
};

}  // namespace tutti
