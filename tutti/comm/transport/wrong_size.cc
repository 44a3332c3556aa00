#include "tutti/comm/transport/wrong_size.h"

#include <fmt/format.h>

namespace tutti::comm {

Result wrong_size(int channel, std::size_t bytes_here, std::size_t bytes_there) {
  return Result::failure(ErrorKind::kComm, "DDL-6-02",
                         fmt::format("a message on channel {} has {} bytes at this end and {} at "
                                     "the other: pass the same size on both ranks.",
                                     channel, bytes_here, bytes_there));
}

}  // namespace tutti::comm
