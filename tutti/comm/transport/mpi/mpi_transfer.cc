#include "tutti/comm/transport/mpi/mpi_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
  statuses_.resize(requests_.size());
}

std::unique_ptr<Transfer> MpiTransfer::send(MPI_Comm communicator, int peer, int tag,
                                            const void* data, std::size_t bytes,
                                            std::shared_ptr<MpiPatience> patience) {
  std::unique_ptr<MpiTransfer> transfer(new MpiTransfer(false, bytes, std::move(patience)));
  transfer->start_pieces("MPI_Isend", [&](std::size_t offset, int piece, MPI_Request* request) {
    return MPI_Isend(static_cast<const std::byte*>(data) + offset, piece, MPI_BYTE, peer, tag,
                     communicator, request);
  });
  return transfer;
}

std::unique_ptr<Transfer> MpiTransfer::receive(MPI_Comm communicator, int peer, int tag, void* data,
                                               std::size_t bytes,
                                               std::shared_ptr<MpiPatience> patience) {
  std::unique_ptr<MpiTransfer> transfer(new MpiTransfer(true, bytes, std::move(patience)));
  transfer->start_pieces("MPI_Irecv", [&](std::size_t offset, int piece, MPI_Request* request) {
    return MPI_Irecv(static_cast<std::byte*>(data) + offset, piece, MPI_BYTE, peer, tag,
                     communicator, request);
  });
  return transfer;
}

Result MpiTransfer::test(bool* finished) {
  *finished = false;
  if (outcome_ && !requests_.empty()) {
    const auto lock = MpiCalls::guard();
    int flag = 0;
    const int code =
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, statuses_.data());
    if (code == MPI_SUCCESS && !flag) return Result::ok();
    // The call's own code only says that a status has one.
    int reason = code;
    for (const MPI_Status& status : statuses_) {
      if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_ERR_PENDING &&
          status.MPI_ERROR != MPI_SUCCESS) {
        reason = status.MPI_ERROR;
      }
    }
    outcome_ = mpi_result(reason, is_receive_ ? "MPI_Irecv" : "MPI_Isend");
    if (outcome_ && is_receive_) outcome_ = check_size();
    std::erase(requests_, MPI_REQUEST_NULL);
  }
  *finished = outcome_.is_ok();
  return outcome_;
}

Result MpiTransfer::check_size() const {
  std::size_t received = 0;
  for (const MPI_Status& status : statuses_) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    received += static_cast<std::size_t>(count);
  }
  if (received == bytes_) return Result::ok();
  return Result::failure(ErrorKind::kComm, "DDL-6-02",
                         fmt::format("a message has {} bytes at this end and {} at the other: both "
                                     "ranks must name the same size.",
                                     bytes_, received));
}

MpiTransfer::~MpiTransfer() {
  if (requests_.empty()) return;
  patience_->has_given_up = true;
  const std::int64_t start = now_ns();
  const auto is_through = [this] {
    const auto lock = MpiCalls::guard();
    int flag = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag,
                                 MPI_STATUSES_IGNORE);
    return flag != 0 || code != MPI_SUCCESS;
  };
  if (is_receive_) {
    const auto lock = MpiCalls::guard();
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    }
  }
  const double seconds = static_cast<double>(patience_->nanoseconds_left) * 1e-9;
  if (!wait_politely(is_through, std::max(0.0, seconds))) patience_->has_abandoned = true;
  patience_->nanoseconds_left -= now_ns() - start;
}

}  // namespace tutti::comm
