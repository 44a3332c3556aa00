// Error reporting for steps that may fail on several ranks: one message instead of one per rank.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "tutti/comm/communicator.h"

namespace tutti::train {

// Ends a rank whose failure another rank reports, or that could not continue because of it.
class ReportedByAnotherRank : public std::exception {
 public:
  explicit ReportedByAnotherRank(int code) : code_(code) {}
  const char* what() const noexcept override { return "reported by another rank"; }
  int exit_code() const { return code_; }

 private:
  int code_;
};

// Human-readable message of an exception; libtorch's without its backtrace.
std::string error_message(const std::exception& error);

// Runs `work` on every rank. If it fails on all ranks with the same message, rank 0 throws it. If messages differ, each
// failed rank throws its own, with its rank in front. All other ranks throw ReportedByAnotherRank. Collective; `work`
// may be collective too. Errors of the communicator itself are passed on.
void collective_guard(comm::Communicator& communicator, const std::function<void()>& work);

}  // namespace tutti::train
