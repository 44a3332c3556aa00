#include "tutti/plan/plan.h"

namespace tutti::plan {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce: return "all_reduce";
    case Collective::kReduceScatter: return "reduce_scatter";
    case Collective::kAllGather: return "all_gather";
    case Collective::kBroadcast: return "broadcast";
    case Collective::kReduce: return "reduce";
    case Collective::kGather: return "gather";
    case Collective::kScatter: return "scatter";
    case Collective::kAllToAll: return "all_to_all";
    case Collective::kBarrier: return "barrier";
    case Collective::kSendReceive: return "send_receive";
  }
  return "unknown";
}

bool Plan::uses_mapped_memory() const {
  for (const Lane& lane : lanes) {
    for (const Step& step : lane.steps) {
      if (step.kind == StepKind::kHostBarrier) return true;
    }
  }
  return false;
}

}  // namespace tutti::plan
