#include "tutti/comm/internal/farewell.h"

#include <utility>

namespace tutti::comm {

Farewell::Farewell(Transport& transport, Monitor& monitor, std::unique_ptr<Watch> watch,
                   std::unique_ptr<HostGroup> host, std::unique_ptr<Roster> roster)
    : transport_(transport),
      monitor_(monitor),
      watch_(std::move(watch)),
      host_(std::move(host)),
      roster_(std::move(roster)) {
  // The program makes no more calls that could deliver a failure.
  roster_->is_delivered = true;
}

Farewell::~Farewell() {
  watch_->begin_end();
  if (!transport_.finish(*this)) monitor_.announce_exit();
  monitor_.remove(*roster_);
}

// Only a transport that waits asks; with others the processes end one by one, and none is lost.
Result Farewell::ask(int rank, std::int64_t waited) {
  monitor_.expect_end();
  return watch_->ask(rank, waited);
}

}  // namespace tutti::comm
