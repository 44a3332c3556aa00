#include "tutti/comm/faults/shutdown_barrier.h"

#include <utility>

namespace tutti::comm {

ShutdownBarrier::ShutdownBarrier(Transport& transport, Monitor& monitor,
                                 std::unique_ptr<Watchdog> watch, std::unique_ptr<HostGroup> host,
                                 std::unique_ptr<Membership> membership)
    : transport_(transport),
      monitor_(monitor),
      watch_(std::move(watch)),
      host_(std::move(host)),
      membership_(std::move(membership)) {
  // The program makes no more calls that could return a failure.
  membership_->is_delivered = true;
}

ShutdownBarrier::~ShutdownBarrier() {
  watch_->begin_end();
  if (!transport_.finish(*this)) monitor_.announce_exit();
  monitor_.remove(*membership_);
}

// Called only by transports whose shutdown is a barrier. With the others, processes exit independently and none is
// lost.
Result ShutdownBarrier::on_stall(int rank, std::int64_t waited) {
  monitor_.expect_end();
  return watch_->on_stall(rank, waited);
}

}  // namespace tutti::comm
