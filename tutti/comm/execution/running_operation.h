// The operation that the steps of a plan belong to.
#pragma once

#include <span>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/execution/operation_memory.h"
#include "tutti/comm/kernels/kernels.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

struct RunningOperation {
  OperationMemory memory;
  const plan::Plan* plan = nullptr;
  const Operation* operation = nullptr;
  const OpRecord* record = nullptr;

  // Averages are sums until the reduction that completes them.
  ReduceOp sum_for_average() const {
    return operation->op == ReduceOp::kAverage ? ReduceOp::kSum : operation->op;
  }
  // Performs the reduction of a step.
  void reduce_step(const plan::Step& step, std::span<const void* const> sources,
                   std::span<void* const> targets, std::int64_t count) const {
    reduce(operation->dtype, step.completes ? operation->op : sum_for_average(), sources, targets,
           count, plan->ranks);
  }
};

}  // namespace tutti::comm
