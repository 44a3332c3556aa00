#include "tutti/core/result.h"

namespace tutti {

Result Result::failure(ErrorKind kind, std::string code, std::string message) {
  Result result;
  result.failure_ = Failure{kind, std::move(code), std::move(message)};
  return result;
}

Result Result::from(const Error& error) {
  std::string text = error.what();
  return failure(error.kind(), error.code(), text.substr(error.code().size() + 1));
}

Result Result::with_context(const std::string& context) && {
  if (failure_) failure_->message = context + ": " + failure_->message;
  return std::move(*this);
}

void Result::throw_if_error() const {
  if (failure_) throw_error(failure_->kind, failure_->code, failure_->message);
}

}  // namespace tutti
