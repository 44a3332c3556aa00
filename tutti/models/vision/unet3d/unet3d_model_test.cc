// The network against an independent formulation, finite differences and itself in steps.
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/nn/functional.h>
#include <torch/optim/adam.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include <sstream>

#include "tutti/kernels/amx/amx.h"
#include "tutti/models/vision/unet3d/case.h"
#include "tutti/models/vision/unet3d/model.h"
#include "tutti/train/task.h"

namespace tutti::models::unet3d {
namespace {

namespace F = torch::nn::functional;

const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run beside each other
  return kernels::prepare_amx();
}();

torch::Tensor images(std::int64_t count, std::int64_t side) {
  torch::manual_seed(3);
  return torch::rand({count, kModalities, side, side, side}) * 100 + 7;
}

torch::Tensor by_modules(Network& network, const NetworkShape& shape, const torch::Tensor& input) {
  const auto p = network.named_parameters();
  auto block = [&](const std::string& name, const torch::Tensor& x) {
    torch::Tensor out = torch::conv3d(x, p[name + "_weight"], p[name + "_bias"], 1, 1);
    if (shape.has_norm)
      out = F::instance_norm(
          out, F::InstanceNormFuncOptions().weight(p[name + "_scale"]).bias(p[name + "_shift"]));
    return torch::relu(out);
  };
  torch::Tensor x = F::instance_norm(input);
  std::vector<torch::Tensor> left;
  for (int level = 0; level < shape.depth; ++level) {
    const std::string name = "down" + std::to_string(level);
    x = block(name + "_b", block(name + "_a", x));
    if (level + 1 == shape.depth) break;
    left.push_back(x);
    x = torch::max_pool3d(x, 2);
  }
  for (int level = shape.depth - 2; level >= 0; --level) {
    const std::string name = "up" + std::to_string(level);
    x = shape.has_deconvolution
            ? torch::conv_transpose3d(x, p[name + "_double_weight"], p[name + "_double_bias"], 2)
            : F::interpolate(x, F::InterpolateFuncOptions()
                                    .scale_factor(std::vector<double>{2, 2, 2})
                                    .mode(torch::kNearest));
    x = block(name + "_b", block(name + "_a", torch::cat({x, left[std::size_t(level)]}, 1)));
  }
  return torch::conv3d(x, p["last_weight"], p["last_bias"]);
}

double difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).norm().item<double>() / (b.norm().item<double>() + 1e-12);
}

torch::Tensor flat(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& each : tensors) parts.push_back(each.flatten());
  return torch::cat(parts);
}

// Outputs and gradients: in f32 closely, every tensor by itself; in bf16, where other voxels may win the pooling, as a
// whole.
TEST(UnetModel, AgreesWithPlainModules) {
  for (int kind = 0; kind < 4; ++kind) {
    NetworkShape shape{8, 4, 3};
    shape.has_deconvolution = kind & 1;
    shape.has_norm = kind & 2;
    Network network(shape, 5, torch::kFloat32);
    const auto parameters = network.parameters();
    EXPECT_EQ(flat(parameters).numel(), parameter_count(shape));
    const torch::Tensor x = images(2, 8), direction = torch::randn({2, kLabels, 8, 8, 8});
    auto gradients = [&](const torch::Tensor& out) {
      return torch::autograd::grad({(out * direction).sum()}, parameters);
    };
    const torch::Tensor theirs = by_modules(network, shape, x), ours = network.forward(x);
    EXPECT_LT(difference(ours, theirs), 1e-4) << kind;
    const auto right = gradients(theirs), exact = gradients(ours);
    for (std::size_t i = 0; i < right.size(); ++i)
      // A norm removes the bias before it: its gradient is only rounding.
      if (right[i].norm().item<double>() > 1e-2) {
        EXPECT_LT(difference(exact[i], right[i]), 5e-4) << kind << " " << i;
      }
    network.compute_in(torch::kBFloat16);
    const torch::Tensor near = network.forward(x);
    EXPECT_LT(difference(near, theirs), 0.05) << kind;
    EXPECT_LT(difference(flat(gradients(near)), flat(right)), 0.3) << kind;
  }
}

TEST(UnetModel, ComputesTheSameInSteps) {
  for (torch::ScalarType dtype : {torch::kFloat32, torch::kBFloat16}) {
    const NetworkShape shape{8, 4, 3};
    Network network(shape, 1, dtype);
    const torch::Tensor x = images(3, 8);
    torch::Tensor y = x;
    std::size_t tensors = 0;
    double flops = 0;
    for (int step = 0; step < network.steps(); ++step) {
      y = network.forward_step(step, y);
      tensors += network.step_tensors(step);
      flops += network.step_flops(step);
    }
    EXPECT_TRUE(torch::equal(y, network.forward(x)));
    EXPECT_EQ(tensors, network.parameters().size());
    EXPECT_EQ(flops, forward_flops(shape));
  }
}

TEST(UnetModel, LossIsOneMinusDiceAndHasTheRightGradient) {
  // Two voxels of label 4, one of them found, with another: Dice 2 / 4; labels 1 and 2 as none.
  torch::Tensor labels = torch::zeros({1, 1, 2, 2}, torch::kUInt8);
  labels[0][0][0].fill_(kEnhancing);
  torch::Tensor scores = torch::full({1, kLabels, 1, 2, 2}, -100.0);
  scores.index_put_({0, 2, 0, torch::indexing::Slice(), 0}, 100.0);
  EXPECT_NEAR(dice_loss(scores, labels).item<double>(), 1 - (1 + 1 + 0.5) / 3, 1e-3);

  torch::manual_seed(2);
  scores = torch::randn({2, kLabels, 3, 3, 3}, torch::kFloat64).set_requires_grad(true);
  const torch::Tensor names = torch::tensor({0, 1, 2, 4}, torch::kUInt8);
  labels = names.index_select(0, torch::randint(4, {54}, torch::kInt64)).view({2, 3, 3, 3});
  dice_loss(scores, labels).backward();
  const torch::NoGradGuard no_gradients;
  const torch::Tensor step = torch::randn_like(scores) * 1e-4;
  const double slope =
      (dice_loss(scores + step, labels) - dice_loss(scores - step, labels)).item<double>() / 2;
  EXPECT_NEAR(slope, (scores.grad() * step).sum().item<double>(), 1e-9);
}

TEST(UnetModel, RareLabelsWeighMoreThanTheirShare) {
  // Label 4 in one of 16 voxels, which therefore weighs 4 of 4 + 15; labels 1 and 2 nowhere.
  torch::Tensor labels = torch::zeros({1, 1, 4, 4}, torch::kUInt8);
  labels[0][0][0][0] = kEnhancing;
  const torch::Tensor scores = torch::full({1, kLabels, 1, 4, 4}, -2.0);
  const double is_not = std::log1p(std::exp(-2.0)), is = is_not + 2;
  EXPECT_NEAR(label_entropy(scores, labels).item<double>(),
              (2 * is_not + (4 * is + 15 * is_not) / 19) / 3, 1e-5);
}

// If a label is unlikely everywhere, the soft Dice coefficient has no useful gradient.
TEST(UnetModel, ALabelThatIsNotFoundHasAGradient) {
  torch::Tensor labels = torch::zeros({1, 4, 4, 4}, torch::kUInt8);
  labels[0][1].fill_(kEnhancing);
  auto pull = [&](auto loss) {  // of the voxels of the label, all scores being -12
    const torch::Tensor scores = torch::full({1, kLabels, 4, 4, 4}, -12.0).set_requires_grad(true);
    const torch::Tensor slope = torch::autograd::grad({loss(scores, labels)}, {scores})[0];
    return -slope[0][2][1].sum().item<double>();
  };
  EXPECT_LT(pull(dice_loss), 1e-4);
  EXPECT_GT(pull(label_entropy), 0.1);
}

TEST(UnetModel, TheLikeliestLabelWins) {
  const torch::Tensor scores =
      torch::tensor({-1.f, 1.f, 2.f, 3.f, -2.f, 3.f, 1.f, 2.f, -3.f, -1.f, 0.f, 4.f})
          .view({1, 3, 1, 2, 2});
  const torch::Tensor expected = torch::tensor({0, 2, 1, 4}, torch::kUInt8).view({1, 1, 2, 2});
  EXPECT_TRUE(torch::equal(labels_of(scores), expected)) << labels_of(scores);
}

train::Batch one_head() {
  Random random(1);
  const Scan scan = make_scan(16, random);
  return {torch::tensor(scan.images).view({1, kModalities, 16, 16, 16}),
          torch::tensor(std::vector<int>(scan.labels.begin(), scan.labels.end()), torch::kUInt8)
              .view({1, 16, 16, 16}),
          {}};
}

TEST(UnetOptions, DoublingIsADeprecatedNameOfUpsampling) {
  const OptionTable table = case_info().table();
  const auto upsampling_of = [&](const train::Settings& settings) {
    return train::resolve(case_info(), table, settings).text("upsampling");
  };
  EXPECT_EQ(upsampling_of({{"doubling", "upsample"}}), "nearest");
  EXPECT_EQ(upsampling_of({{"doubling", "deconvolution"}}), "deconvolution");
  train::Settings saved = {{"doubling", "upsample"}};  // config.toml of an earlier release
  train::use_current_names(table, saved);
  EXPECT_EQ(saved, (train::Settings{{"upsampling", "nearest"}}));
}

TEST(UnetTask, OverfitsOneScan) {
  const OptionTable table = case_info().table();
  const Options options = train::resolve(
      case_info(), table, {{"size", "tiny"}, {"augment", "0"}, {"filters", "4"}, {"depth", "2"}});
  const auto task = make_task(options);
  const train::Batch batch = one_head();
  task->model().train();
  torch::optim::Adam adam(task->model().parameters(), torch::optim::AdamOptions(1e-2));
  const double before = task->loss(batch, 0).item<double>();
  for (int i = 0; i < 40; ++i) {
    adam.zero_grad();
    task->loss(batch, 0).backward();
    adam.step();
  }
  const double after = task->loss(batch, 0).item<double>();
  EXPECT_LT(after, 0.75 * before) << before;
  EXPECT_EQ(task->layers().size(), 4u);
  EXPECT_EQ(task->prediction_names().size(), 3u);

  std::stringstream file;
  task->export_script(file);
  const torch::Tensor twice = torch::cat({batch.input, batch.input});
  const torch::Tensor found = torch::jit::load(file).forward({twice}).toTensor();
  const torch::Tensor scores = torch::logit(found, 1e-6),
                      labels = torch::cat({batch.target, batch.target});
  EXPECT_NEAR((dice_loss(scores, labels) + label_entropy(scores, labels)).item<double>(), after,
              0.05);
}

}  // namespace
}  // namespace tutti::models::unet3d
