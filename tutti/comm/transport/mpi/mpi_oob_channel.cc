#include "tutti/comm/transport/mpi/mpi_oob_channel.h"

#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::comm {

void MpiOobChannel::send(int peer, const std::string& text) {
  {
    const MutexLock lock(mutex_);
    if (outgoing_.size() < kMaxUnsent) outgoing_.push_back({peer, text});
  }
  flush();
}

bool MpiOobChannel::flush() {
  const MutexLock lock(mutex_);
  bool entered = false;
  const auto inside = MpiCalls::try_guard(&entered);
  if (entered) push();
  return outgoing_.empty();
}

std::optional<OutOfBandMessage> MpiOobChannel::next() {
  const MutexLock lock(mutex_);
  bool entered = false;
  const auto inside = MpiCalls::try_guard(&entered);
  if (!entered) return std::nullopt;
  push();
  return pull();
}

void MpiOobChannel::push() {
  for (auto message = outgoing_.begin(); message != outgoing_.end();) {
    int flag = 0;
    int code = MPI_SUCCESS;
    if (!message->is_started) {
      code = MPI_Isend(message->text.data(), static_cast<int>(message->text.size()), MPI_CHAR,
                       message->peer, 0, communicator_, &message->request);
      message->is_started = true;
    }
    if (code == MPI_SUCCESS) code = MPI_Test(&message->request, &flag, MPI_STATUS_IGNORE);
    message = flag || code != MPI_SUCCESS ? outgoing_.erase(message) : std::next(message);
  }
}

std::optional<OutOfBandMessage> MpiOobChannel::pull() {
  int flag = 0;
  if (receiving_ == MPI_REQUEST_NULL) {
    MPI_Message message;
    MPI_Status status;
    const int code = MPI_Improbe(MPI_ANY_SOURCE, 0, communicator_, &flag, &message, &status);
    if (code != MPI_SUCCESS || !flag) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    incoming_ = {status.MPI_SOURCE, std::string(static_cast<std::size_t>(bytes), ' ')};
    MPI_Imrecv(incoming_.text.data(), bytes, MPI_CHAR, &message, &receiving_);
  }
  const int code = MPI_Test(&receiving_, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) receiving_ = MPI_REQUEST_NULL;
  if (code != MPI_SUCCESS || !flag) return std::nullopt;
  return std::move(incoming_);
}

}  // namespace tutti::comm
