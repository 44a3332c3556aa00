// Send and receive: `root` sends its vector to `peer`; all other ranks have no steps. One step, S bytes.
#include "tutti/plan/algorithms/table.h"

namespace tutti::plan {
namespace {

bool send_receive_supports(Collective collective, const Shape&) {
  return collective == Collective::kSendReceive;
}

Cost send_receive_cost(Collective, int, double bytes, int) {
  return {1, bytes};
}

void build_send_receive(Builder& builder, const SubgroupTask& task) {
  const Request& request = task.request;
  const int me = task.subgroup.ranks[task.subgroup.index];
  const Range source{Space::kInput, 0, request.count};
  const Range target{Space::kOutput, 0, request.count};
  if (request.root == request.peer) {
    if (me == request.root) builder.copy(source, target);
  } else if (me == request.root) {
    builder.send(task.subgroup, request.peer, source);
  } else if (me == request.peer) {
    builder.receive(task.subgroup, request.root, target);
  }
}

}  // namespace

Algorithm send_receive() {
  return {"send_receive",
          "one message from root to peer",
          "",
          send_receive_supports,
          send_receive_cost,
          build_send_receive};
}

}  // namespace tutti::plan
