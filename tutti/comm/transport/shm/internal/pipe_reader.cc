#include "tutti/comm/transport/shm/internal/pipe_end.h"

namespace tutti::comm::internal {

void PipeReader::post(Message* message) {
  inbox_.post(message);
  progress();
}

void PipeReader::progress() {
  while (!inbox_.is_idle() && !ring_.is_empty()) {
    FragmentHeader header;
    ring_.read(&header, kHeaderBytes);
    if (header.bytes == kCancelled) {
      inbox_.discard();
    } else {
      if (!inbox_.is_open()) inbox_.begin(header.channel, header.message_bytes);
      if (header.bytes > 0) ring_.read(inbox_.write_position(), header.bytes);
      ring_.skip(padding_of(header.bytes));
      inbox_.arrived(header.bytes);
    }
    ring_.release();
  }
}

}  // namespace tutti::comm::internal
