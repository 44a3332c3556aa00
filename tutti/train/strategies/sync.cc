// Every rank computes the gradient of its part of the batch; all take the mean.
//
// Parameters are cut into buckets from the last layer to the first, the order in which backward
// makes their gradients. A hook on each parameter notes that its gradient is there; when a bucket
// is full, and all before it are on their way, its reduction starts on the communicator's own
// thread while backward goes on. After backward the buckets are waited for in the same order, and
// each is used for the update while later ones still travel.
//
// With lag 1 the update of step n uses the mean gradient of step n-1, so nothing is waited for that
// was not sent a whole step before; the first step updates nothing.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include "tutti/core/clock.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

struct Bucket {
  std::size_t first, last;  // segments, `last` excluded
  std::int64_t begin, count;
  std::string name;
};

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

class Sync : public Strategy {
 public:
  explicit Sync(const StrategyParts& parts)
      : communicator_(parts.communicator),
        parameters_(parts.parameters),
        optimizer_(parts.optimizer),
        clip_norm_(parts.options.number("clip_norm")),
        lag_(static_cast<int>(parts.options.integer("lag"))),
        buckets_(make_buckets(parts)) {
    missing_.resize(buckets_.size());
    works_.resize(buckets_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (std::size_t i = buckets_[b].first; i < buckets_[b].last; ++i) add_hook(i, b);
  }
  ~Sync() override {
    is_armed_ = false;
    for (auto& [node, hook] : hooks_) node->del_post_hook(hook);
  }

  void begin() override {
    if (lag_ == 1) buffer_ = 1 - buffer_;
    parameters_.begin(buffer_);
  }

  void last_backward() override {
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      missing_[b] = buckets_[b].last - buckets_[b].first;
    started_ = 0;
    is_armed_ = communicator_.size() > 1;
  }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_good) override {
    is_armed_ = false;
    if (communicator_.size() > 1)
      while (started_ < buckets_.size())
        start(started_++);  // parameters that had no part in the loss
    StepTimes times;
    if (lag_ == 1) {
      std::swap(works_, pending_);
      std::swap(is_good, is_pending_good_);
      if (step == 1) return times;
    }
    const int buffer = lag_ == 1 ? 1 - buffer_ : buffer_;
    optimizer_.begin(step, rate);
    const bool is_clipped = clip_norm_ > 0;
    if (is_clipped) {
      for (comm::Work& work : works_) wait(work, times);
      scale *= clip_factor(parameters_.gradients(buffer), clip_norm_, scale);
    }
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      wait(works_[b], times);
      if (is_good)
        optimizer_.update(parameters_.weights(), parameters_.gradients(buffer), buckets_[b].first,
                          buckets_[b].last, scale);
    }
    return times;
  }

  comm::Communicator& workers() override { return communicator_; }

 private:
  void add_hook(std::size_t segment, std::size_t bucket) {
    const auto node = torch::autograd::impl::grad_accumulator(parameters_.tensors()[segment]);
    using torch::autograd::variable_list;
    const auto hook = node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, bucket](const variable_list& outputs, const variable_list&) {
          if (is_armed_) arrived(bucket);
          return outputs;
        }));
    hooks_.emplace_back(node, hook);  // the node lives as long as somebody holds it
  }

  void arrived(std::size_t bucket) {
    --missing_[bucket];
    while (started_ < buckets_.size() && missing_[started_] == 0) start(started_++);
  }

  void start(std::size_t b) {
    const std::span<float> part = parameters_.gradients(buffer_).subspan(
        static_cast<std::size_t>(buckets_[b].begin), static_cast<std::size_t>(buckets_[b].count));
    works_[b] = communicator_.all_reduce_async(ConstBuffer::of(std::span<const float>(part)),
                                               Buffer::of(part), ReduceOp::kAverage,
                                               {.name = buckets_[b].name});
  }

  static void wait(comm::Work& work, StepTimes& times) {
    const Stopwatch watch;
    work.wait();
    times.waited += watch.seconds();
    work = comm::Work();
  }

  comm::Communicator& communicator_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  const double clip_norm_;
  const int lag_;
  const std::vector<Bucket> buckets_;
  std::vector<std::size_t> missing_;  // gradients that each bucket still waits for
  std::size_t started_ = 0;
  bool is_armed_ = false;
  int buffer_ = 0;
  std::vector<comm::Work> works_, pending_ = std::vector<comm::Work>(buckets_.size());
  bool is_pending_good_ = true;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> hooks_;
};

}  // namespace

std::unique_ptr<Strategy> make_sync(const StrategyParts& parts) {
  return std::make_unique<Sync>(parts);
}

}  // namespace tutti::train
