#include "tutti/train/strategies/buckets.h"

#include <torch/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>

#include "tutti/core/clock.h"

namespace tutti::train {
namespace {

std::vector<Bucket> make_buckets(const StrategyParts& parts) {
  const std::vector<Segment>& segments = parts.parameters.segments();
  const std::int64_t bytes = parts.options.integer("bucket_bytes");
  std::vector<Bucket> buckets;
  for (std::size_t last = std::min(segments.size(), parts.last_tensor);
       last > parts.first_tensor;) {
    std::size_t first = last - 1;
    std::int64_t count = segments[first].count;
    while (first > parts.first_tensor &&
           (count + segments[first - 1].count) * std::int64_t{sizeof(float)} <= bytes)
      count += segments[--first].count;
    buckets.push_back({first, last, segments[first].begin, count, segments[first].name});
    last = first;
  }
  return buckets;
}

}  // namespace

Buckets::Buckets(const StrategyParts& parts, Start start)
    : buckets_(make_buckets(parts)), start_(std::move(start)), missing_(buckets_.size()) {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (std::size_t i = buckets_[b].first; i < buckets_[b].last; ++i)
      add_hook(parts.parameters.tensors()[i], b);
}

Buckets::~Buckets() {
  is_armed_ = false;
  for (auto& [node, hook] : hooks_) node->del_post_hook(hook);
}

void Buckets::arm() {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    missing_[b] = buckets_[b].last - buckets_[b].first;
  started_ = 0;
  is_armed_ = true;
}

void Buckets::start_rest() {
  is_armed_ = false;
  while (started_ < buckets_.size()) start_(started_++);
}

void Buckets::add_hook(torch::Tensor& parameter, std::size_t bucket) {
  const auto node = torch::autograd::impl::grad_accumulator(parameter);
  using torch::autograd::variable_list;
  const auto hook = node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
      [this, bucket](const variable_list& outputs, const variable_list&) {
        if (is_armed_) arrived(bucket);
        return outputs;
      }));
  hooks_.emplace_back(node, hook);  // the node lives as long as somebody holds it
}

void Buckets::arrived(std::size_t bucket) {
  --missing_[bucket];
  while (started_ < buckets_.size() && missing_[started_] == 0) start_(started_++);
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
