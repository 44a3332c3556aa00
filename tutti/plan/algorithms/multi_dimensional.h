// The composition of the other algorithms over a whole grid; see multi_dimensional.cc.
#pragma once

#include "tutti/plan/builder.h"
#include "tutti/plan/layout.h"
#include "tutti/plan/plan.h"

namespace tutti::plan {

// One lane of a plan whose ranks are more than one block.
struct LaneTask {
  Builder& builder;
  const Layout& layout;
  const Request& request;
  int rank = 0;
  int group = -1;  // my block's, -1 when I am alone in it
  Range range;     // elements of the vector (all_reduce, broadcast, reduce)
  int lanes = 1;   // of the plan
};

// Whether an all_reduce is so small that one rank of each host does it all for the others.
bool collects(const Layout& layout, const Request& request, int lanes);

void all_reduce_lane(const LaneTask& task);
void broadcast_lane(const LaneTask& task);
void reduce_lane(const LaneTask& task);
void barrier_lane(const LaneTask& task);
void reduce_scatter_lane(const LaneTask& task);
void all_gather_lane(const LaneTask& task);

}  // namespace tutti::plan
