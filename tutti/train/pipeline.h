// Model parallelism: the layers of a network are dealt to the ranks of a pipeline, in a row, and
// parts of a batch travel through it.
#pragma once

#include <functional>
#include <memory>

#include "tutti/comm/communicator.h"
#include "tutti/train/parameters.h"
#include "tutti/train/task.h"

namespace tutti::train {

// Layers `first` to `last` (excluded) of each stage, so that the stage with the most work has as
// little as can be. Every stage gets at least one; `work` must have as many.
std::vector<std::size_t> partition_layers(const std::vector<double>& work, int stages);

struct PipelineShape {
  int stages = 2, micro_batches = 4;
  bool casts = false;  // libtorch's autocast to bf16 in the forward pass
};

// Ranks p * stages to (p + 1) * stages - 1 of the communicator are pipeline p; data parallelism is
// between the ranks of the same stage. Activations, their gradients, and the work of a stage are on
// its rank only; every rank keeps the array of all weights, and the others' part of it is brought
// up to date by share().
class Pipeline {
 public:
  // Collective over `world`, whose size must be a multiple of `stages`. Throws ConfigError when it
  // is not, or when the task's network cannot be split in so many.
  Pipeline(Task& task, comm::Communicator& world, const PipelineShape& shape);
  ~Pipeline();

  // The ranks of this stage, of all pipelines.
  comm::Communicator& replicas() { return *replicas_; }
  // The ranks of this pipeline, one for each stage.
  comm::Communicator& line() { return *line_; }
  // The tensors of this stage among all of the model, `last` excluded.
  std::size_t first_tensor() const { return tensors_[static_cast<std::size_t>(stage_)]; }
  std::size_t last_tensor() const { return tensors_[static_cast<std::size_t>(stage_) + 1]; }

  // Forward and backward of a batch that all ranks of the pipeline have; gradients are added up
  // where the parameters have them. Every rank gets the mean loss. `before_last` is called before
  // the backward pass of the last part.
  struct Passed {
    float loss = 0;
    double waited = 0;  // seconds in which this rank only waited for other stages
  };
  Passed run(const Batch& batch, std::uint64_t seed, const std::function<void()>& before_last);

  // The largest of each number over the stages, to which all then agree.
  void agree(std::span<float> numbers);

  // Gives every rank of the pipeline what the others' stages have in `values`, an array over all
  // parameters.
  void share(std::span<float> values, const std::vector<Segment>& segments);
  // The same for the buffers of the model.
  void share_buffers();

 private:
  struct Part {
    torch::Tensor input, output;  // of this stage; the output of the last one is the loss
  };
  Part forward(const Batch& batch, std::uint64_t seed);
  void send(const torch::Tensor& tensor, int peer);
  torch::Tensor receive(int peer);
  // `starts_` counted in what each layer has so many of.
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
  std::vector<std::size_t> buffers_;  // and in buffers of the model
  struct Letter;
  std::vector<std::unique_ptr<Letter>> sent_;  // must live until they have arrived
  double waited_ = 0;                          // in this run
};

}  // namespace tutti::train
