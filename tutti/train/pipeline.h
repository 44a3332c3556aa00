// Pipeline parallelism: the layers of a network are partitioned into stages, one rank each, and micro-batches pass
// through them.
#pragma once

#include <functional>
#include <memory>

#include "tutti/comm/communicator.h"
#include "tutti/train/parameters.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Partitions layers into consecutive stages so that the largest amount of work of a stage is minimal. Returns the first
// layer of each stage and the end. Every stage has at least one layer; `work` must have at least `stages` entries.
std::vector<std::size_t> partition_layers(const std::vector<double>& work, int stages);

struct PipelineShape {
  int stages = 2, micro_batches = 4;
  bool casts = false;  // uses libtorch's autocast to bf16 in the forward pass
};

// Ranks p * stages to (p + 1) * stages - 1 of the communicator are pipeline p; ranks of the same stage are data
// parallel. Activations, their gradients and the computation of a stage are on its rank only. Every rank has the array
// of all weights; share() updates the parts of other stages.
class Pipeline {
 public:
  // Collective over `world`. Throws ConfigError if its size is not a multiple of `stages`, or if the task's network
  // cannot be split into that many.
  Pipeline(Task& task, comm::Communicator& world, const PipelineShape& shape);
  ~Pipeline();

  // The ranks of this stage in all pipelines.
  comm::Communicator& replicas() { return *replicas_; }
  // The ranks of this pipeline, one per stage.
  comm::Communicator& line() { return *line_; }
  // The tensors of this stage among those of the model, `last` excluded.
  std::size_t first_tensor() const { return tensors_[static_cast<std::size_t>(stage_)]; }
  std::size_t last_tensor() const { return tensors_[static_cast<std::size_t>(stage_) + 1]; }

  // Forward and backward pass of a batch that all ranks of the pipeline have. Gradients are accumulated. Every rank
  // returns the mean loss. `before_last` is called before the backward pass of the last micro-batch.
  struct Passed {
    float loss = 0;
    double waited = 0;  // seconds spent waiting for other stages
  };
  Passed run(const Batch& batch, std::uint64_t seed, const std::function<void()>& before_last);

  // Replaces each number by its maximum over the stages.
  void agree(std::span<float> numbers);

  // Exchanges the parts of `values`, an array over all parameters, between the stages of the pipeline.
  void share(std::span<float> values, const std::vector<Segment>& segments);
  // The same for the buffers of the model.
  void share_buffers();

 private:
  struct Part {
    torch::Tensor input, output;  // of this stage; the output of the last stage is the loss
  };
  Part forward(const Batch& batch, std::uint64_t seed);
  void send(const torch::Tensor& tensor, int peer);
  torch::Tensor receive(int peer);
  // `starts_` in units of `count` instead of layers.
  std::vector<std::size_t> starts_in(std::size_t Layer::* count) const;
  bool is_first() const { return stage_ == 0; }
  bool is_last() const { return stage_ + 1 == stages_; }

  Task& task_;
  const PipelineShape shape_;
  const int stages_, stage_;
  std::unique_ptr<comm::Communicator> line_, replicas_;
  std::vector<Layer> layers_;         // of the whole network
  std::vector<std::size_t> starts_;   // first layer of each stage, and the end
  std::vector<std::size_t> tensors_;  // the same in tensors
  std::vector<std::size_t> buffers_;  // the same in buffers
  struct PendingSend;
  std::vector<std::unique_ptr<PendingSend>> sent_;  // kept alive until received
  double waited_ = 0;                               // during the current run()
};

}  // namespace tutti::train
