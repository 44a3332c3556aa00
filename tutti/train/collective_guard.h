// One voice for what fails on all ranks alike: a wrong file would otherwise be told once per rank.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "tutti/comm/communicator.h"

namespace tutti::train {

// Ends a rank whose failure another rank tells, or for which it could not go on.
class ReportedByAnotherRank : public std::exception {
 public:
  explicit ReportedByAnotherRank(int code) : code_(code) {}
  const char* what() const noexcept override { return "reported by another rank"; }
  int exit_code() const { return code_; }

 private:
  int code_;
};

// The sentence for people of anything that was thrown, libtorch's without its backtrace.
std::string error_message(const std::exception& error);

// Does `work` on every rank. Where it fails on all with the same words, rank 0 throws them; where
// ranks differ, each that failed throws its own with its number in front. All others throw
// ReportedByAnotherRank. Collective; `work` may be so too. What the communicator itself throws is passed on.
void collective_guard(comm::Communicator& communicator, const std::function<void()>& work);

}  // namespace tutti::train
