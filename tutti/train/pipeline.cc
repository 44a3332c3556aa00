// A batch is split into M micro-batches (GPipe). Forward, each of the S stages receives a micro-batch from the previous
// stage, computes, and sends the result on without waiting. All ranks are thus busy for M of M + S - 1 rounds. Backward
// runs in the opposite direction: the last stage starts from the loss, every other stage from the gradient of the
// activations that it sent.
#include "tutti/train/pipeline.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/train/process_setup.h"

// A stage computes its micro-batches in order. An activation travels as two messages: a header with type and shape,
// from which the receiver allocates the tensor, then the data. Sends are asynchronous and kept alive until the end of
// the step, so the memory of a stage includes the activations and gradients it has sent. Gradients of weights
// accumulate over the micro-batches; `before_last` marks the last one, after which they may be reduced with the other
// replicas of the stage. The loss is computed on the last stage and broadcast.
namespace tutti::train {
namespace {

constexpr int kHeadTag = 4, kBodyTag = 5;
constexpr std::size_t kMostDimensions = 6;

Buffer bytes_of(void* data, std::size_t bytes) {
  return {data, static_cast<std::int64_t>(bytes), DType::kU8};
}

bool is_channels_last(const torch::Tensor& tensor) {
  return tensor.dim() == 4 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
}

void check_stages(int ranks, int layers, int stages) {
  if (layers == 0)
    throw ConfigError(
        "DDL-1-76",
        "The network of this case cannot be split into pipeline stages. Omit `stages`.");
  if (layers < stages)
    throw ConfigError(
        "DDL-1-76",
        fmt::format("The network has {} layers, too few for {} `stages`. Set at most {}.", layers,
                    stages, layers));
  if (ranks % stages != 0)
    throw ConfigError("DDL-1-76",
                      fmt::format("{} ranks cannot form pipelines of {} `stages`. Start {} ranks, "
                                  "or another multiple of {}.",
                                  ranks, stages, (ranks / stages + 1) * stages, stages));
}

// True if the layers can be partitioned into `stages` stages with at most `most` work each.
bool fits(const std::vector<double>& work, int stages, double most) {
  int used = 1;
  double sum = 0;
  for (double each : work) {
    if (sum > 0 && sum + each > most) {
      ++used;
      sum = 0;
    }
    sum += each;
  }
  return used <= stages;
}

}  // namespace

struct Pipeline::PendingSend {
  // Header that precedes a tensor: the receiver allocates it from these fields.
  struct Head {
    std::int64_t type = 0, dimensions = 0, is_channels_last = 0;
    std::array<std::int64_t, kMostDimensions> sizes = {};
  };
  Head head;
  torch::Tensor body;
  comm::Work works[2];
};

std::vector<std::size_t> partition_layers(const std::vector<double>& work, int stages) {
  // The optimal limit is the sum of a range of consecutive layers.
  double limit = 0;
  for (double each : work) limit += each;
  for (std::size_t first = 0; first < work.size(); ++first) {
    double sum = 0;
    for (std::size_t last = first; last < work.size(); ++last) {
      sum += work[last];
      if (sum < limit && fits(work, stages, sum) &&
          sum >= *std::max_element(work.begin(), work.end()))
        limit = sum;
    }
  }
  std::vector<std::size_t> starts = {0};
  double sum = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::size_t open = static_cast<std::size_t>(stages) - starts.size();
    const bool is_full = sum > 0 && sum + work[i] > limit;
    const bool must_open = work.size() - i == open;  // every later stage needs a layer
    if (i > starts.back() && open > 0 && (is_full || must_open)) {
      starts.push_back(i);
      sum = 0;
    }
    sum += work[i];
  }
  starts.push_back(work.size());
  return starts;
}

Pipeline::Pipeline(Task& task, comm::Communicator& world, const PipelineShape& shape)
    : task_(task),
      shape_(shape),
      stages_(shape.stages),
      stage_(world.rank() % stages_),
      layers_(task.layers()) {
  check_stages(world.size(), static_cast<int>(layers_.size()), stages_);
  line_ = world.split(world.rank() / stages_);
  replicas_ = world.split(stage_);
  std::vector<double> work;
  for (const Layer& layer : layers_) work.push_back(layer.flops);
  starts_ = partition_layers(work, stages_);
  tensors_ = starts_in(&Layer::tensors);
  buffers_ = starts_in(&Layer::buffers);
}

std::vector<std::size_t> Pipeline::starts_in(std::size_t Layer::* count) const {
  std::vector<std::size_t> before = {0};  // before each layer, and at the end
  for (const Layer& layer : layers_) before.push_back(before.back() + layer.*count);
  std::vector<std::size_t> starts;
  for (std::size_t layer : starts_) starts.push_back(before[layer]);
  return starts;
}

Pipeline::~Pipeline() = default;

void Pipeline::send(const torch::Tensor& tensor, int peer) {
  auto pending = std::make_unique<PendingSend>();
  const bool is_last_first = is_channels_last(tensor);
  pending->body = is_last_first ? tensor.detach() : tensor.detach().contiguous();
  pending->head = {
      static_cast<std::int64_t>(tensor.scalar_type()), tensor.dim(), is_last_first, {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.dim()); ++d)
    pending->head.sizes.at(d) = tensor.size(static_cast<std::int64_t>(d));
  pending->works[0] =
      line_->send_async(bytes_of(&pending->head, sizeof pending->head), peer, kHeadTag);
  pending->works[1] =
      line_->send_async(bytes_of(pending->body.data_ptr(), pending->body.nbytes()), peer, kBodyTag);
  sent_.push_back(std::move(pending));
}

torch::Tensor Pipeline::receive(int peer) {
  const Stopwatch watch;
  PendingSend::Head head;
  line_->receive(bytes_of(&head, sizeof head), peer, kHeadTag);
  const auto options = torch::dtype(static_cast<torch::ScalarType>(head.type))
                           .memory_format(head.is_channels_last ? at::MemoryFormat::ChannelsLast
                                                                : at::MemoryFormat::Contiguous);
  torch::Tensor tensor = torch::empty(
      at::IntArrayRef(head.sizes.data(), static_cast<std::size_t>(head.dimensions)), options);
  line_->receive(bytes_of(tensor.data_ptr(), tensor.nbytes()), peer, kBodyTag);
  waited_ += watch.seconds();
  return tensor;
}

Pipeline::Part Pipeline::forward(const Batch& batch, std::uint64_t seed) {
  const std::optional<Autocast> autocast =
      shape_.casts ? std::optional<Autocast>(std::in_place) : std::nullopt;
  Part part;
  part.input = is_first() ? batch.input : receive(stage_ - 1).set_requires_grad(true);
  part.output = part.input;
  for (std::size_t i = starts_[static_cast<std::size_t>(stage_)];
       i < starts_[static_cast<std::size_t>(stage_) + 1]; ++i)
    part.output = layers_[i].forward(part.output, seed);
  if (is_last())
    part.output = task_.layers_loss(part.output, batch);
  else
    send(part.output, stage_ + 1);
  return part;
}

Pipeline::Passed Pipeline::run(const Batch& batch, std::uint64_t seed,
                               const std::function<void()>& before_last) {
  const std::vector<torch::Tensor> inputs = batch.input.chunk(shape_.micro_batches),
                                   targets = batch.target.chunk(shape_.micro_batches);
  const auto share = [&](std::size_t m) {
    return static_cast<double>(inputs[m].size(0)) / static_cast<double>(batch.input.size(0));
  };
  std::vector<Part> parts;
  float loss = 0;
  waited_ = 0;
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    parts.push_back(forward({inputs[m], targets[m], {}}, mixed_seed(seed, m)));
    if (is_last()) loss += static_cast<float>(share(m) * parts[m].output.item<double>());
  }
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    if (m + 1 == inputs.size()) before_last();
    Part& part = parts[m];
    if (is_last())
      (part.output * share(m)).backward();
    else
      part.output.backward(receive(stage_ + 1));
    if (!is_first()) send(part.input.grad(), stage_ - 1);
    part = {};
  }
  const Stopwatch watch;
  for (const auto& pending : sent_)
    for (comm::Work& work : pending->works) work.wait();
  sent_.clear();
  line_->broadcast(Buffer::of(std::span(&loss, 1)), stages_ - 1, {.name = "loss"});
  return {loss, waited_ + watch.seconds()};
}

void Pipeline::agree(std::span<float> numbers) {
  line_->all_reduce(Buffer::of(numbers), ReduceOp::kMax, {.name = "stages"});
}

void Pipeline::share(std::span<float> values, const std::vector<Segment>& segments) {
  for (int stage = 0; stage < stages_; ++stage) {
    const std::size_t first = tensors_[static_cast<std::size_t>(stage)],
                      last = tensors_[static_cast<std::size_t>(stage) + 1];
    if (first == last) continue;
    const std::int64_t begin = segments[first].begin,
                       end = segments[last - 1].begin + segments[last - 1].count;
    line_->broadcast(Buffer::of(values.subspan(static_cast<std::size_t>(begin),
                                               static_cast<std::size_t>(end - begin))),
                     stage, {.name = "stage"});
  }
}

void Pipeline::share_buffers() {
  const torch::NoGradGuard no_gradients;
  const std::vector<torch::Tensor> buffers = task_.model().buffers();
  for (int stage = 0; stage < stages_; ++stage)
    for (std::size_t i = buffers_[static_cast<std::size_t>(stage)];
         i < buffers_[static_cast<std::size_t>(stage) + 1]; ++i) {
      torch::Tensor values = buffers[i].contiguous();
      line_->broadcast(bytes_of(values.data_ptr(), values.nbytes()), stage, {.name = "buffers"});
      buffers[i].copy_(values);
    }
}

}  // namespace tutti::train
