// One message through MPI, split into pieces whose size fits an int.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/comm/transport/mpi/mpi_calls.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// Cancellation state shared by the transfers of one transport.
struct MpiCancelState {
  // Time in ns that destructors of incomplete transfers may still wait for MPI, all together.
  std::atomic<std::int64_t> wait_budget_ns = 100'000'000;
  std::atomic<bool> has_abandoned = false;  // a cancelled transfer did not complete in MPI
  std::atomic<bool> has_lost_rank = false;  // not all ranks will reach the end
};

class MpiTransfer : public Transfer {
 public:
  // MPI counts are int; pieces also limit the size of MPI's internal buffers.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

  // Start a message. The memory must stay alive until the transfer is complete or destroyed. A failure of MPI is
  // returned by test().
  static std::unique_ptr<Transfer> send(MPI_Comm communicator, int peer, int tag, const void* data,
                                        std::size_t bytes,
                                        std::shared_ptr<MpiCancelState> cancel_state);
  static std::unique_ptr<Transfer> receive(MPI_Comm communicator, int peer, int tag, void* data,
                                           std::size_t bytes,
                                           std::shared_ptr<MpiCancelState> cancel_state);
  ~MpiTransfer() override;
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;

  Result test(bool* finished) override;

 private:
  MpiTransfer(bool is_receive, std::size_t bytes, std::shared_ptr<MpiCancelState> cancel_state)
      : is_receive_(is_receive), bytes_(bytes), cancel_state_(std::move(cancel_state)) {}
  // Calls `start(offset, bytes, request)` for each piece.
  template <class Start>
  void start_pieces(const char* call, Start&& start);
  Result check_size(const MPI_Status& status) const;

  const bool is_receive_;
  const std::size_t bytes_;
  const std::shared_ptr<MpiCancelState> cancel_state_;
  std::vector<MPI_Request> requests_;  // one per piece
  std::size_t completed_ = 0;
  Result outcome_ = Result::ok();
};

}  // namespace tutti::comm
