// Progress of one lane of a running plan. Private to the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/comm/transport/transport.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

struct LaneState {
  const plan::Lane* lane = nullptr;
  int index = 0;
  std::size_t next_step = 0;
  bool step_started = false;
  bool receive_started = false;
  std::int64_t step_start_ns = 0;
  std::uint32_t barriers = 0;  // host barriers passed or waited for in this operation
  std::unique_ptr<Transfer> sending;
  std::unique_ptr<Transfer> receiving;
  std::vector<std::byte> arrived;  // received data that is not yet reduced

  bool is_finished() const { return next_step == lane->steps.size(); }
  const plan::Step& step() const { return lane->steps[next_step]; }
  bool waits_locally() const {
    return step().kind == plan::StepKind::kHostBarrier ||
           step().kind == plan::StepKind::kLeaderReduce ||
           step().kind == plan::StepKind::kLeaderBroadcast;
  }
  bool has_transfer() const { return sending || receiving; }
};

}  // namespace tutti::comm
