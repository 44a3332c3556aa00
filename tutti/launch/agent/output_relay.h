// Relays the output of a program to ddlrun, with flow control (frames.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tutti/launch/net/frames.h"
#include "tutti/os/process.h"

namespace tutti::launch {

// Reads from the program only as many bytes as ddlrun has granted credit for. A program whose output is not consumed
// blocks in write(), as with a shell pipe. Not thread-safe.
class OutputRelay {
 public:
  // `connection`: non-blocking, authenticated. `output`, `errors`: read ends of the program's streams. Takes ownership.
  OutputRelay(os::UniqueFd connection, os::UniqueFd output, os::UniqueFd errors,
              std::uint32_t window);

  bool is_connected() const { return connection_.is_open(); }
  int connection() const { return connection_.get(); }
  short connection_events() const;
  // File descriptors to poll for output; -1 if the stream is closed or nothing may be read now.
  int output_file() const { return may_read(0) ? sources_[0].file.get() : -1; }
  int errors_file() const { return may_read(1) ? sources_[1].file.get() : -1; }
  // True if the program, and all processes that inherited its streams, have closed them.
  bool is_at_end() const { return !sources_[0].file.is_open() && !sources_[1].file.is_open(); }
  // True if an open stream is waiting for credit.
  bool is_stalled() const;

  void read_output() { read_source(0); }
  void read_errors() { read_source(1); }
  // Stops reading; data that was read is still sent.
  void close_sources();
  void add_credit(const Credit& credit);
  void send_frame(const std::string& frame) { pending_ += frame; }
  // Sends as much as the connection accepts; closes it if it is broken.
  void send_pending();
  void disconnect() { connection_.close(); }

 private:
  struct Source {
    os::UniqueFd file;
    char kind;
    std::uint64_t credit;
  };
  bool may_read(std::size_t source) const;
  void read_source(std::size_t source);

  os::UniqueFd connection_;
  std::array<Source, 2> sources_;
  std::string pending_;   // frames to send
  std::size_t sent_ = 0;  // bytes of `pending_` already sent
};

}  // namespace tutti::launch
