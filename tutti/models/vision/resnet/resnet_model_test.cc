// The networks against their published tables and an independent formulation.
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/nn/functional.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/error.h"
#include "tutti/kernels/amx/amx.h"
#include "tutti/models/vision/resnet/case.h"
#include "tutti/models/vision/resnet/model.h"
#include "tutti/train/task.h"

namespace tutti::models::resnet {
namespace {

const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run beside each other
  return kernels::prepare_amx();
}();

TEST(ResnetModel, CountsAreThoseOfTheTable) {
  struct Row {
    int depth;
    std::int64_t parameters;
    double giga_macs;
  };
  for (const Row& row : {Row{18, 11689512, 1.81}, Row{34, 21797672, 3.66}, Row{50, 25557032, 4.09},
                         Row{101, 44549160, 7.80}, Row{152, 60192808, 11.51}}) {
    const auto layers = graph_of({row.depth, 224, 1000, true}).layers();
    EXPECT_EQ(parameter_count(layers), row.parameters) << row.depth;
    EXPECT_NEAR(forward_flops(layers) / 2e9, row.giga_macs, 0.01) << row.depth;
  }
  const auto small = graph_of({20, 32, 10, true}).layers();
  EXPECT_EQ(parameter_count(small), 272474);
  EXPECT_NEAR(forward_flops(small) / 2e6, 41, 0.3);
  EXPECT_THROW(graph_of({19, 32, 10, true}), ConfigError);
  Network network({20, 32, 10, false}, 1, torch::kFloat32);
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : network.parameters()) count += parameter.numel();
  EXPECT_EQ(count, 272474);
}

struct Block {
  std::string name;
  bool is_bottleneck, has_shortcut;
};

std::vector<Block> blocks_of(const torch::OrderedDict<std::string, torch::Tensor>& p) {
  const std::string end = "_a_weight";
  std::vector<Block> blocks;
  for (const auto& item : p) {
    if (!item.key().ends_with(end)) continue;
    const std::string name = item.key().substr(0, item.key().size() - end.size());
    blocks.push_back({name, p.contains(name + "_c_weight"), p.contains(name + "_shortcut_weight")});
  }
  return blocks;
}

// A block of libtorch's modules with the weights of a Tutti block.
torch::Tensor by_modules(const torch::OrderedDict<std::string, torch::Tensor>& p,
                         const Block& block, const torch::Tensor& input, int stride) {
  auto layer = [&](const char* name, const torch::Tensor& x, int step) {
    const std::string full = block.name + name;
    const torch::Tensor& weight = p[full + "_weight"];
    torch::nn::BatchNorm2d norm(weight.size(0));
    norm->to(torch::kFloat64);
    norm->weight = p[full + "_scale"];
    norm->bias = p[full + "_shift"];
    return norm(torch::conv2d(x, weight, {}, step, weight.size(2) / 2));
  };
  torch::Tensor x;
  if (block.is_bottleneck) {
    x = layer("_c", layer("_b", layer("_a", input, 1).relu(), stride).relu(), 1);
  } else {
    x = layer("_b", layer("_a", input, stride).relu(), 1);
  }
  return (x + (block.has_shortcut ? layer("_shortcut", input, stride) : input)).relu();
}

TEST(ResnetModel, AgreesWithPlainModules) {
  for (const NetworkShape& shape : {NetworkShape{8, 8, 3, false}, NetworkShape{50, 64, 3, true}}) {
    // In f64: fifty norms of few values make percents out of the rounding of f32.
    Network network(shape, 3, torch::kFloat64);
    network.to(torch::kFloat64);
    torch::manual_seed(1);
    for (auto& item : network.named_parameters())  // blocks that start silent would hide errors
      if (item.key().ends_with("_scale")) item.value().data().uniform_(0.5, 1);
    const auto p = network.named_parameters();
    const torch::Tensor images =
        torch::rand({4, 3, shape.image, shape.image}, torch::kFloat64) * 255;
    torch::nn::BatchNorm2d norm(p["stem_scale"].size(0));
    norm->to(torch::kFloat64);
    norm->weight = p["stem_scale"];
    norm->bias = p["stem_shift"];
    const bool is_large = shape.depth == 50;
    torch::Tensor x = torch::relu(norm(torch::conv2d((images - 128) / 64, p["stem_weight"], {},
                                                     is_large ? 2 : 1, is_large ? 3 : 1)));
    if (is_large) x = torch::max_pool2d(x, 3, 2, 1);
    for (const Block& block : blocks_of(p)) {
      const bool halves = block.name.ends_with("_1") && !block.name.starts_with("stage1");
      x = by_modules(p, block, x, halves ? 2 : 1);
    }
    const torch::Tensor theirs =
        torch::nn::functional::linear(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1),
                                      p["linear_weight"].flatten(1), p["linear_bias"]);
    const torch::Tensor ours = network.forward(images);
    EXPECT_TRUE(torch::allclose(ours, theirs, 1e-7, 1e-9)) << shape.depth;
    const torch::Tensor labels = torch::tensor({0, 2, 1, 0}, torch::kInt64);
    const auto parameters = network.parameters();
    const auto a = torch::autograd::grad({torch::cross_entropy_loss(ours, labels)}, parameters),
               b = torch::autograd::grad({torch::cross_entropy_loss(theirs, labels)}, parameters);
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_LT((a[i] - b[i]).norm().item<double>(), 1e-6 * b[i].norm().item<double>() + 1e-9) << i;
  }
}

TEST(ResnetModel, PartsFollowEachOtherAndShareAllWeights) {
  Network network({50, 32, 3, true}, 3, torch::kFloat32);
  network.eval();
  const torch::NoGradGuard no_gradients;
  const torch::Tensor images = torch::rand({2, 3, 32, 32}) * 255;
  torch::Tensor x = images;
  std::size_t tensors = 0, buffers = 0;
  const auto parameters = network.named_parameters();
  for (const train::Layer& part : network.parts()) {
    const std::string first = parameters[tensors].key();
    EXPECT_TRUE(first == "stem_weight" || first == "linear_weight" || first.ends_with("_a_weight"))
        << first;
    x = part.forward(x, 0);
    tensors += part.tensors;
    buffers += part.buffers;
  }
  EXPECT_TRUE(torch::equal(x, network.forward(images)));
  EXPECT_EQ(tensors, parameters.size());
  EXPECT_EQ(network.named_buffers()[buffers].key(), "input_mean");
}

TEST(ResnetTask, OverfitsOneBatch) {
  const OptionTable table = case_info().table();
  const Options options = train::resolve(case_info(), table, {{"size", "tiny"}});
  const auto task = make_task(options);
  const train::Batch batch = task->random_batch(8);
  task->model().train();
  const double before = task->loss(batch, 0).item<double>();
  for (int i = 0; i < 25; ++i) {
    task->model().zero_grad();
    task->loss(batch, 0).backward();
    const torch::NoGradGuard no_gradients;
    for (torch::Tensor& parameter : task->model().parameters())
      parameter.sub_(parameter.grad(), 0.1);
  }
  EXPECT_LT(task->loss(batch, 0).item<double>(), 0.5 * before);
  EXPECT_EQ(task->prediction_names().size(), 10u);
  EXPECT_GT(task->flops_per_sample(), 1e6);
}

}  // namespace
}  // namespace tutti::models::resnet
