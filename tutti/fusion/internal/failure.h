// Conversion of exceptions of a background thread to a Result.
#pragma once

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/core/result.h"

namespace tutti::fusion {

// Runs `work` and returns its exception as a failure. Exceptions other than Error become a failure of the fusion engine
// of `rank` (DDL-4-76).
template <typename Work>
Result outcome_of(int rank, const Work& work) {
  try {
    work();
    return Result::ok();
  } catch (const Error& error) {
    return Result::from(error);
  } catch (const std::exception& error) {
    return Result::failure(
        ErrorKind::kComm, "DDL-4-76",
        fmt::format("The fusion engine of rank {} has failed: {}.", rank, error.what()));
  }
}

}  // namespace tutti::fusion
