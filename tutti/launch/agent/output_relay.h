// Output of a program on its way to ddlrun, under flow control (frames.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tutti/launch/net/frames.h"
#include "tutti/os/process.h"

namespace tutti::launch {

// Reads from the program only what ddlrun has granted credit for, so a program whose output is not
// consumed blocks in write as under a shell pipe. One thread may use it.
class OutputRelay {
 public:
  // `connection`: non-blocking, authenticated. `output`, `errors`: what the program writes.
  OutputRelay(os::UniqueFd connection, os::UniqueFd output, os::UniqueFd errors,
              std::uint32_t window);

  bool is_connected() const { return connection_.is_open(); }
  int connection() const { return connection_.get(); }
  short connection_events() const;
  // The files to poll for output; -1 if the program has closed it or nothing more may be read now.
  int output_file() const { return may_read(0) ? sources_[0].file.get() : -1; }
  int errors_file() const { return may_read(1) ? sources_[1].file.get() : -1; }
  // Whether the program, and all that inherited its streams, has closed them.
  bool is_at_end() const { return !sources_[0].file.is_open() && !sources_[1].file.is_open(); }
  // Whether an open stream has to wait for ddlrun.
  bool is_stalled() const;

  void read_output() { read_source(0); }
  void read_errors() { read_source(1); }
  // Stops reading; what was read is still sent.
  void close_sources();
  void add_credit(const Credit& credit);
  void send_frame(const std::string& frame) { pending_ += frame; }
  // Sends what the connection takes; closes it when it is broken.
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
  std::string pending_;   // frames
  std::size_t sent_ = 0;  // bytes of them
};

}  // namespace tutti::launch
