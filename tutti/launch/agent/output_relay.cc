#include "tutti/launch/agent/output_relay.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

// Bytes move from the two sources of the program to one queue of frames, and from there to the connection. A source is
// read only while it has credit and the queue has less than kMostUnsent bytes, so memory is bounded and a program whose
// output is not consumed blocks. A frame takes credit when its bytes are read. After the connection has broken, sources
// are read without a limit and the bytes are discarded.
namespace tutti::launch {
namespace {

constexpr std::size_t kMostUnsent = 256 << 10, kMostRead = 128 << 10;

}  // namespace

OutputRelay::OutputRelay(os::UniqueFd connection, os::UniqueFd output, os::UniqueFd errors,
                         std::uint32_t window)
    : connection_(std::move(connection)),
      sources_{{{std::move(output), kOutput, window}, {std::move(errors), kErrors, window}}} {}

short OutputRelay::connection_events() const {
  return static_cast<short>(POLLIN | (sent_ < pending_.size() ? POLLOUT : 0));
}

// Without a connection the output is read and discarded, so the program can end.
bool OutputRelay::may_read(std::size_t source) const {
  if (!sources_[source].file.is_open()) return false;
  return !is_connected() || (sources_[source].credit > 0 && pending_.size() - sent_ < kMostUnsent);
}

bool OutputRelay::is_stalled() const {
  return (sources_[0].file.is_open() && !may_read(0)) ||
         (sources_[1].file.is_open() && !may_read(1));
}

void OutputRelay::close_sources() {
  for (Source& source : sources_) source.file.close();
}

void OutputRelay::add_credit(const Credit& credit) {
  sources_[credit.stream == kOutput ? 0 : 1].credit += credit.bytes;
}

// Reads directly to the end of the pending frames, after space for a header that is filled in afterwards.
void OutputRelay::read_source(std::size_t index) {
  Source& source = sources_[index];
  if (!may_read(index)) return;
  const std::size_t old_size = pending_.size();
  const auto most = std::min<std::uint64_t>(is_connected() ? source.credit : kMostRead, kMostRead);
  pending_.resize(old_size + kFrameHeaderBytes + most);
  char* const header = pending_.data() + old_size;
  const auto bytes = ::read(source.file.get(), header + kFrameHeaderBytes, most);
  if (bytes > 0 && is_connected()) {
    encode_header(source.kind, static_cast<std::uint32_t>(bytes), header);
    pending_.resize(old_size + kFrameHeaderBytes + static_cast<std::size_t>(bytes));
    source.credit -= static_cast<std::uint64_t>(bytes);
    return;
  }
  const bool is_interrupted = bytes < 0 && (errno == EINTR || errno == EAGAIN);
  pending_.resize(old_size);
  if (bytes <= 0 && !is_interrupted) source.file.close();
}

void OutputRelay::send_pending() {
  if (!is_connected() || sent_ == pending_.size()) return;
  const auto bytes = ::send(connection(), pending_.data() + sent_, pending_.size() - sent_,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
  if (bytes < 0 && errno != EAGAIN && errno != EINTR) return disconnect();
  if (bytes > 0) sent_ += static_cast<std::size_t>(bytes);
  if (sent_ < pending_.size() && sent_ < kMostUnsent) return;
  pending_.erase(0, sent_);
  sent_ = 0;
}

}  // namespace tutti::launch
