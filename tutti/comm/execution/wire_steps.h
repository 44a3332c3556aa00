// Steps of a plan that send messages or call a native collective of the transport.
#pragma once

#include <vector>

#include "tutti/comm/execution/handshakes.h"
#include "tutti/comm/execution/lane_state.h"
#include "tutti/comm/execution/running_operation.h"
#include "tutti/comm/transport/vendor.h"

namespace tutti::comm {

// Each call proceeds as far as possible without waiting.
class WireSteps {
 public:
  // All arguments must outlive this object. `vendor` may be nullptr. `transport_ranks`: transport rank of each rank of
  // the communicator, for the vendor collectives.
  WireSteps(Wire& wire, Handshakes& handshakes, VendorCollectives* vendor,
            std::vector<int> transport_ranks, const RunningOperation& running)
      : wire_(wire),
        handshakes_(handshakes),
        vendor_(vendor),
        transport_ranks_(std::move(transport_ranks)),
        running_(running) {}

  Result exchange(LaneState& lane, const plan::Step& step, bool* finished);
  Result vendor(LaneState& lane, const plan::Step& step, bool* finished);

 private:
  Result start_receive(LaneState& lane, const plan::Step& step);
  void reduce_arrived(LaneState& lane, const plan::Step& step) const;

  Wire& wire_;
  Handshakes& handshakes_;
  VendorCollectives* const vendor_;
  const std::vector<int> transport_ranks_;
  const RunningOperation& running_;
};

}  // namespace tutti::comm
