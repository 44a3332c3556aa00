#include "tutti/comm/transport/mpi/mpi_transfer.h"

#include <algorithm>
#include <utility>

#include "tutti/comm/transport/wrong_size.h"
#include "tutti/core/clock.h"

namespace tutti::comm {

template <class Start>
void MpiTransfer::start_pieces(const char* call, Start&& start) {
  const auto lock = MpiCalls::guard();
  std::size_t offset = 0;
  do {
    const std::size_t piece = std::min(kPieceBytes, bytes_ - offset);
    MPI_Request request = MPI_REQUEST_NULL;
    outcome_ = mpi_result(start(offset, static_cast<int>(piece), &request), call);
    if (!outcome_) return;
    requests_.push_back(request);
    offset += piece;
  } while (offset < bytes_);
}

std::unique_ptr<Transfer> MpiTransfer::send(MPI_Comm communicator, int peer, int tag,
                                            const void* data, std::size_t bytes,
                                            std::shared_ptr<MpiCancelState> cancel_state) {
  std::unique_ptr<MpiTransfer> transfer(new MpiTransfer(false, bytes, std::move(cancel_state)));
  transfer->start_pieces("MPI_Isend", [&](std::size_t offset, int piece, MPI_Request* request) {
    return MPI_Isend(static_cast<const std::byte*>(data) + offset, piece, MPI_BYTE, peer, tag,
                     communicator, request);
  });
  return transfer;
}

std::unique_ptr<Transfer> MpiTransfer::receive(MPI_Comm communicator, int peer, int tag, void* data,
                                               std::size_t bytes,
                                               std::shared_ptr<MpiCancelState> cancel_state) {
  std::unique_ptr<MpiTransfer> transfer(new MpiTransfer(true, bytes, std::move(cancel_state)));
  transfer->start_pieces("MPI_Irecv", [&](std::size_t offset, int piece, MPI_Request* request) {
    return MPI_Irecv(static_cast<std::byte*>(data) + offset, piece, MPI_BYTE, peer, tag,
                     communicator, request);
  });
  return transfer;
}

Result MpiTransfer::test(bool* finished) {
  *finished = false;
  const auto lock = MpiCalls::guard();
  while (outcome_ && completed_ < requests_.size()) {
    MPI_Status status;
    int flag = 0;
    const int code = MPI_Test(&requests_[completed_], &flag, &status);
    outcome_ = mpi_result(code, is_receive_ ? "MPI_Irecv" : "MPI_Isend");
    if (outcome_ && !flag) return Result::ok();
    if (outcome_ && is_receive_) outcome_ = check_size(status);
    ++completed_;
  }
  *finished = outcome_.is_ok();
  return outcome_;
}

Result MpiTransfer::check_size(const MPI_Status& status) const {
  const std::size_t wanted = std::min(kPieceBytes, bytes_ - completed_ * kPieceBytes);
  int received = 0;
  MPI_Get_count(&status, MPI_BYTE, &received);
  if (static_cast<std::size_t>(received) == wanted) return Result::ok();
  return wrong_size(status.MPI_TAG, bytes_, completed_ * kPieceBytes + received);
}

MpiTransfer::~MpiTransfer() {
  if (completed_ == requests_.size()) return;
  const std::int64_t start = now_ns();
  if (is_receive_) {
    const auto lock = MpiCalls::guard();
    for (std::size_t i = completed_; i < requests_.size(); ++i) MPI_Cancel(&requests_[i]);
  }
  const auto is_complete = [this] {
    const auto lock = MpiCalls::guard();
    for (; completed_ < requests_.size(); ++completed_) {
      int flag = 0;
      const int code = MPI_Test(&requests_[completed_], &flag, MPI_STATUS_IGNORE);
      if (code == MPI_SUCCESS && !flag) return false;
    }
    return true;
  };
  const double seconds = static_cast<double>(cancel_state_->wait_budget_ns) * 1e-9;
  if (!wait_politely(is_complete, std::max(0.0, seconds))) cancel_state_->has_abandoned = true;
  cancel_state_->wait_budget_ns -= now_ns() - start;
}

}  // namespace tutti::comm
