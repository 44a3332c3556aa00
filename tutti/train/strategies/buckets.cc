#include "tutti/train/strategies/buckets.h"

#include <torch/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>

#include "tutti/core/clock.h"

// Autograd accumulates the gradient of a parameter in a node of its graph. A hook after this node marks the gradient as
// ready. Hooks are active only between arm() and start_rest(), i.e. during the last backward pass of a step: earlier
// passes only accumulate. When all gradients of a bucket are ready and all earlier buckets of the plan have started,
// `start` is called on the thread of the backward pass. The planned order is the same on all ranks, so the reductions
// match without negotiation.
namespace tutti::train {
namespace {

// The gradients that this rank trains.
std::vector<fusion::GradientSize> sizes_of(const StrategyContext& context) {
  const std::vector<Segment>& segments = context.parameters.segments();
  std::vector<fusion::GradientSize> sizes;
  for (std::size_t i = context.first_tensor; i < std::min(segments.size(), context.last_tensor);
       ++i)
    sizes.push_back({segments[i].count});
  return sizes;
}

// Gradients are contiguous in one array, so members are not padded.
fusion::BucketLimits limits_of(const Options& options) {
  const auto bytes = static_cast<std::size_t>(options.integer("bucket_bytes"));
  return {.bucket_bytes = bytes, .first_bytes = bytes, .alignment = sizeof(float)};
}

}  // namespace

Buckets::Buckets(const StrategyContext& context, fusion::BucketSchedule::Start start)
    : schedule_(sizes_of(context), limits_of(context.options),
                fusion::BucketSchedule::Order::kPlanned, std::move(start)) {
  const std::vector<Segment>& segments = context.parameters.segments();
  for (const fusion::PlannedBucket& plan : schedule_.buckets()) {
    const std::size_t first = context.first_tensor + plan.members.back();
    buckets_.push_back({first, first + plan.members.size(), segments[first].begin, plan.count,
                        segments[first].name});
    for (const std::size_t i : plan.members)
      add_hook(context.parameters.tensors()[context.first_tensor + i], i);
  }
}

Buckets::~Buckets() {
  is_armed_ = false;
  for (auto& [node, hook] : hooks_) node->del_post_hook(hook);
}

void Buckets::arm() {
  schedule_.begin(1);
  is_armed_ = true;
}

void Buckets::start_rest() {
  is_armed_ = false;
  schedule_.start_rest();
}

void Buckets::add_hook(torch::Tensor& parameter, std::size_t gradient) {
  const auto node = torch::autograd::impl::grad_accumulator(parameter);
  using torch::autograd::variable_list;
  const auto hook = node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
      [this, gradient](const variable_list& outputs, const variable_list&) {
        if (is_armed_) schedule_.mark_ready(gradient);
        return outputs;
      }));
  hooks_.emplace_back(node, hook);  // the reference keeps the node alive
}

double sum_over_stages(double own, comm::Communicator* stages) {
  if (stages != nullptr)
    stages->all_reduce(Buffer::of(std::span(&own, 1)), ReduceOp::kSum, {.name = "squares"});
  return own;
}

double wait_for(comm::Work& work) {
  const Stopwatch watch;
  work.wait();
  work = comm::Work();
  return watch.seconds();
}

}  // namespace tutti::train
