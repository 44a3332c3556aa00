// The networks compared with their published tables and with independent formulations.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "tutti/kernels/amx/amx.h"
#include "tutti/models/science/climate_segment/case.h"
#include "tutti/models/science/climate_segment/model.h"
#include "tutti/train/task.h"

namespace tutti::models::climate_segment {
namespace {

using torch::Tensor;
const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run beside each other
  return kernels::prepare_amx();
}();

// The published number has three passes of every layer. A step needs two of the first one: the gradient of the
// network's input is not computed.
TEST(Tiramisu, CountsAreThoseOfTheTable) {
  const auto layers = layers_of(TiramisuShape{});
  EXPECT_EQ(parameter_count(layers), 7504835);
  EXPECT_NEAR(3 * forward_flops(layers) * 1e-9, 4188, 0.5);
  const double first = 2.0 * 16 * 64 * 5 * 5 * 768 * 1152;
  EXPECT_DOUBLE_EQ(forward_flops(std::span(layers).first(1)), first);
  EXPECT_DOUBLE_EQ(train_flops(layers), 3 * forward_flops(layers) - first);
  EXPECT_NEAR(train_flops(layers) * 1e-9, 4142, 0.5);
  TiramisuShape small{96, 144, 16, 3, 16, 8, 3, {2, 2, 2}, {2, 2}, 0};
  EXPECT_NEAR(3 * forward_flops(layers_of(small)) * 1e-9, 1.5, 0.02);
  small.first = 32;
  small.growth = 16;
  EXPECT_NEAR(3 * forward_flops(layers_of(small)) * 1e-9, 5.6, 0.03);
}

// Dilated convolutions as in TensorFlow: pixels that are `dilation` apart become separate images, which are padded by a
// pixel on each side and to equal sizes, and each is convolved at all of its pixels.
double padded_flops(const Layer& layer) {
  auto padded = [&](int side) {
    const int rate = layer.dilation;
    return double((side + 2 * rate + rate - 1) / rate * rate);
  };
  const double flops = forward_flops({&layer, 1});
  if (layer.dilation == 1) return flops;
  return flops * padded(layer.height) * padded(layer.width) / (double(layer.height) * layer.width);
}

// The published number has the padding of dilated convolutions, and three passes of every layer; a step needs neither
// the padding nor the gradient of the weather, which two layers see.
TEST(DeepLab, CountsAreThoseOfTheTable) {
  const auto layers = graph_of(DeepLabShape{}).layers();
  double padded = 0;
  for (const Layer& layer : layers) padded += 3 * padded_flops(layer);
  EXPECT_NEAR(padded * 1e-12, 14.41, 0.005);
  EXPECT_NEAR(3 * forward_flops(layers) * 1e-9, 13024, 1);
  const double stem = 2.0 * 16 * 64 * 7 * 7 * 384 * 576, input = 2.0 * 16 * 64 * 9 * 768 * 1152;
  EXPECT_DOUBLE_EQ(train_flops(layers), 3 * forward_flops(layers) - stem - input);
  // ResNet-50 v2 without its last layer has 23.5 million; pyramid and decoder the rest.
  EXPECT_NEAR(double(parameter_count(layers)) * 1e-6, 43.7, 0.1);
}

// In f64, so that steps can be so small that no value crosses the kink of a ReLU; and with nonzero biases and shifts,
// because otherwise whole channels would be at the kink.
void expect_right_gradients(Network& network, const Tensor& fields, const Tensor& labels) {
  network.to(torch::kFloat64);
  network.compute_in(torch::kFloat64);
  for (Tensor& parameter : network.parameters())
    if (parameter.dim() == 1) parameter.data().add_(torch::rand_like(parameter), 0.1);
  const Tensor input = fields.to(torch::kFloat64);
  auto loss = [&] { return torch::cross_entropy_loss(network.forward(input), labels); };
  network.zero_grad();
  loss().backward();
  for (auto& item : network.named_parameters()) {
    Tensor& parameter = item.value();
    const Tensor step = torch::randn_like(parameter);
    const double expected = (parameter.grad() * step).sum().item<double>();
    EXPECT_NE(expected, 0) << item.key();  // every layer has a part in the result
    const torch::NoGradGuard no_gradients;
    constexpr double kStep = 1e-8;
    parameter.add_(step, kStep);
    const double above = loss().item<double>();
    parameter.add_(step, -2 * kStep);
    const double below = loss().item<double>();
    parameter.add_(step, kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), expected, 0.01 * std::abs(expected) + 1e-5)
        << item.key();
  }
}

// The forward pass written out for two blocks down and one up.
TEST(Tiramisu, AgreesWithItsDescription) {
  const TiramisuShape shape{8, 12, 16, 3, 6, 4, 3, {2, 1}, {1}, 0};
  const auto network = make_network(shape, 3, torch::kFloat32);
  torch::manual_seed(1);
  const Tensor input = torch::randn({2, 16, 8, 12});
  const auto p = network->named_parameters();
  auto conv = [&](const char* name, const Tensor& x, int stride = 1) {
    const std::string n = name;
    return torch::relu(
        torch::conv2d(x, p[n + "_weight"], p[n + "_bias"], stride, p[n + "_weight"].size(2) / 2));
  };
  const Tensor x = conv("first", input);
  const Tensor a = conv("down0_0", x), b = conv("down0_1", torch::cat({x, a}, 1));
  const Tensor skip = torch::cat({x, a, b}, 1);
  const Tensor c = conv("down1_0", conv("halve0", skip, 2));
  const Tensor up = torch::conv_transpose2d(c, p["double0_weight"], p["double0_bias"], 2, 1, 1);
  const Tensor joint = torch::cat({skip, up}, 1);
  const Tensor all = torch::cat({joint, conv("up0_0", joint)}, 1);
  const Tensor expected = torch::conv2d(all, p["last_weight"], p["last_bias"]);
  EXPECT_TRUE(torch::allclose(network->forward(input), expected, 1e-4, 1e-5));
  expect_right_gradients(*network, input, torch::randint(3, {2, 8, 12}, torch::kInt64));
}

// The largest relative error of a gradient in f32, where a block is one operation, against f64, where libtorch computes
// each layer.
double gradient_error(const TiramisuShape& shape, int seed) {
  const auto ours = make_network(shape, seed, torch::kFloat32),
             exact = make_network(shape, seed, torch::kFloat32);
  exact->to(torch::kFloat64);
  exact->compute_in(torch::kFloat64);
  torch::manual_seed(seed);
  const Tensor input = torch::randn({1, shape.channels, shape.height, shape.width});
  const Tensor labels = torch::randint(3, {1, shape.height, shape.width}, torch::kInt64);
  auto loss = [&](Network& network, torch::ScalarType dtype) {
    const Tensor result = torch::cross_entropy_loss(network.forward(input.to(dtype)), labels);
    result.backward();
    return result.item<double>();
  };
  EXPECT_NEAR(loss(*ours, torch::kFloat32), loss(*exact, torch::kFloat64), 1e-5);
  const auto found = ours->named_parameters();
  double worst = 0;
  for (const auto& item : exact->named_parameters()) {
    const Tensor expected = item.value().grad();
    const Tensor difference = found[item.key()].grad().to(torch::kFloat64) - expected;
    worst = std::max(worst, difference.norm().item<double>() / expected.norm().item<double>());
  }
  return worst;
}

// The median over seeds: where a ReLU input is almost zero, rounding decides its sign, and the gradients of that seed
// differ by about 1e-3. A wrong kernel fails for every seed.
TEST(Tiramisu, HasTheGradientsOfF64WithManyFilters) {
  const TiramisuShape shape{24, 36, 16, 3, 32, 16, 3, {2, 3, 2}, {3, 2}, 0};
  std::vector<double> errors;
  for (int seed = 1; seed <= 9; ++seed) errors.push_back(gradient_error(shape, seed));
  std::ranges::nth_element(errors, errors.begin() + 4);
  EXPECT_LT(errors[4], 1e-4);
}

// A network of libtorch's operations, from the names of its layers.
struct ByHand {
  const torch::OrderedDict<std::string, Tensor> parameters, buffers;

  Tensor conv(const std::string& name, const Tensor& x, int stride = 1, int dilation = 1) const {
    const Tensor weight = parameters[name + "_weight"];
    const Tensor* bias = parameters.find(name + "_bias");
    return torch::conv2d(x, weight, bias ? *bias : Tensor(), stride,
                         dilation * (weight.size(2) / 2), dilation);
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    return torch::relu(torch::batch_norm(x, parameters[name + "_scale"],
                                         parameters[name + "_shift"], buffers[name + "_mean"],
                                         buffers[name + "_variance"], false, 0, 1e-5, false));
  }
  Tensor layer(const std::string& name, const Tensor& x, int stride = 1, int dilation = 1) const {
    return norm(name, conv(name, x, stride, dilation));
  }
  Tensor doubled(const std::string& name, const Tensor& x) const {
    return norm(name, torch::conv_transpose2d(x, parameters[name + "_weight"], Tensor(), 2, 1, 1));
  }
  // Of ResNet v2: norm and ReLU first, on both ways where the width changes.
  Tensor unit(const std::string& name, const Tensor& x, int stride, int dilation) const {
    const Tensor active = norm(name + "_norm", x);
    const Tensor narrow = layer(name + "_b", layer(name + "_a", active), stride, dilation);
    const bool is_wider = parameters.contains(name + "_shortcut_weight");
    using torch::indexing::Slice;
    return conv(name + "_c", narrow) +
           (is_wider ? conv(name + "_shortcut", active, stride)
                     : x.index({Slice(), Slice(), Slice(0, torch::indexing::None, stride),
                                Slice(0, torch::indexing::None, stride)}));
  }
};

// To a quarter by stem and pooling, to an eighth by the last unit of the first block; then dilated kernels, the
// pyramid, and upsampling with skip connections at a quarter and at full size.
TEST(DeepLab, AgreesWithItsDescription) {
  const DeepLabShape shape{32, 48, 16, 3, 4, 8, 6, {2, 1, 2, 1}, {1, 2, 3}};
  const auto network = make_network(shape, 5, torch::kFloat32);
  torch::manual_seed(3);
  {
    const torch::NoGradGuard no_gradients;
    for (Tensor& parameter : network->parameters())
      if (parameter.dim() == 1) parameter.add_(torch::rand_like(parameter), 0.3);
    for (auto& item : network->named_buffers())
      if (!item.key().starts_with("input")) item.value().add_(torch::rand_like(item.value()), 0.3);
  }
  network->eval();
  const torch::NoGradGuard no_gradients;
  const Tensor input = torch::randn({2, 16, 32, 48});
  const ByHand n{network->named_parameters(), network->named_buffers()};
  const Tensor quarter = torch::max_pool2d(n.conv("stem", input, 2), 3, 2, 1);
  Tensor x = n.unit("block1_2", n.unit("block1_1", quarter, 1, 1), 2, 1);
  x = n.unit("block2_1", x, 1, 1);
  x = n.unit("block3_2", n.unit("block3_1", x, 1, 2), 1, 2);
  const Tensor code = n.norm("code_norm", n.unit("block4_1", x, 1, 4));
  ASSERT_EQ(code.sizes(), (std::vector<std::int64_t>{2, 128, 4, 6}));
  const Tensor mean = torch::relu(n.conv("pyramid_mean", code.mean({2, 3}, true)));
  x = n.layer("pyramid_joint",
              torch::cat({n.layer("pyramid0", code), n.layer("pyramid1", code, 1, 1),
                          n.layer("pyramid2", code, 1, 2), n.layer("pyramid3", code, 1, 3),
                          mean.expand({2, 8, 4, 6})},
                         1));
  const Tensor low = n.layer("block1_1_a", n.norm("block1_1_norm", quarter));
  x = torch::cat({n.doubled("double1", x), n.layer("low", low)}, 1);
  x = n.doubled("double2", n.layer("decode2", n.layer("decode1", x)));
  x = torch::cat({n.doubled("double3", x), n.layer("input2", n.layer("input1", input))}, 1);
  const Tensor expected = n.conv("last", n.layer("decode4", n.layer("decode3", x)));
  EXPECT_GT(expected.abs().mean().item<double>(), 0.01);
  EXPECT_TRUE(torch::allclose(network->forward(input), expected, 1e-3, 1e-3));
}

TEST(DeepLab, GradientsAreThoseOfFiniteDifferences) {
  DeepLabShape shape{16, 24, 16, 3, 4, 8, 4, {1, 1, 1, 1}, {1, 2, 3}};
  const auto network = make_network(shape, 3, torch::kFloat32);
  torch::manual_seed(2);
  const Tensor input = torch::randn({2, 16, 16, 24});
  EXPECT_EQ(network->forward(input).sizes(), (std::vector<std::int64_t>{2, 3, 16, 24}));
  expect_right_gradients(*network, input, torch::randint(3, {2, 16, 24}, torch::kInt64));
}

TEST(SegmentTask, OverfitsOneBatchWithBothNetworks) {
  const OptionTable table = case_info().table();
  for (const char* kind : {"tiramisu", "deeplab"}) {
    const Options options = train::resolve(
        case_info(), table, {{"size", "tiny"}, {"width", "0.25"}, {"network", kind}});
    const auto task = make_task(options);
    train::Batch batch = task->random_batch(2);
    batch.target = (batch.input.select(1, 0) > 1).to(torch::kInt64);
    const double before = task->loss(batch, 1).item<double>();
    for (int i = 0; i < 30; ++i) {
      task->model().zero_grad();
      task->loss(batch, 1).backward();
      const torch::NoGradGuard no_gradients;
      for (Tensor& parameter : task->model().parameters()) parameter.sub_(parameter.grad(), 0.05);
    }
    EXPECT_LT(task->loss(batch, 1).item<double>(), 0.7 * before) << kind;
  }
}

}  // namespace
}  // namespace tutti::models::climate_segment
