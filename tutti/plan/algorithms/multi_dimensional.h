// Composition of the other algorithms over a whole grid; multi_dimensional.cc describes it.
#pragma once

#include "tutti/plan/builder.h"
#include "tutti/plan/layout.h"
#include "tutti/plan/plan.h"

namespace tutti::plan {

// One lane of a plan with more than one block.
struct LaneTask {
  Builder& builder;
  const Layout& layout;
  const Request& request;
  int rank = 0;
  int group = -1;  // group of this rank's block; -1 if the block has one rank
  Range range;     // elements of the vector (all_reduce, broadcast, reduce)
  int lanes = 1;   // number of lanes of the plan
};

// True if an all_reduce is small enough for the node-leader path: the first rank of each host communicates for all
// ranks of its host.
bool uses_node_leader(const Layout& layout, const Request& request, int lanes);

void all_reduce_lane(const LaneTask& task);
void broadcast_lane(const LaneTask& task);
void reduce_lane(const LaneTask& task);
void barrier_lane(const LaneTask& task);
void reduce_scatter_lane(const LaneTask& task);
void all_gather_lane(const LaneTask& task);

}  // namespace tutti::plan
