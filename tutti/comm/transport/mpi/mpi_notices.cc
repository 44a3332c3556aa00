#include "tutti/comm/transport/mpi/mpi_notices.h"

#include <utility>

#include "tutti/core/mutex.h"

namespace tutti::comm {

void MpiNotices::send(int peer, const std::string& text) {
  {
    const MutexLock lock(mutex_);
    if (outgoing_.size() < kMaxUnsent) outgoing_.push_back({peer, text});
  }
  flush();
}

bool MpiNotices::flush() {
  const MutexLock lock(mutex_);
  bool entered = false;
  const auto inside = MpiCalls::try_guard(&entered);
  if (entered) push();
  return outgoing_.empty();
}

std::optional<Notice> MpiNotices::next() {
  const MutexLock lock(mutex_);
  bool entered = false;
  const auto inside = MpiCalls::try_guard(&entered);
  if (!entered) return std::nullopt;
  push();
  return pull();
}

void MpiNotices::push() {
  for (auto notice = outgoing_.begin(); notice != outgoing_.end();) {
    int flag = 0;
    int code = MPI_SUCCESS;
    if (!notice->is_started) {
      code = MPI_Isend(notice->text.data(), static_cast<int>(notice->text.size()), MPI_CHAR,
                       notice->peer, 0, communicator_, &notice->request);
      notice->is_started = true;
    }
    if (code == MPI_SUCCESS) code = MPI_Test(&notice->request, &flag, MPI_STATUS_IGNORE);
    notice = flag || code != MPI_SUCCESS ? outgoing_.erase(notice) : std::next(notice);
  }
}

std::optional<Notice> MpiNotices::pull() {
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
