// Compares the networks with their published table, with libtorch's operations and with finite differences; and tests
// which parameters an update changes.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/autograd.h>
#include <torch/nn/functional.h>
#include <torch/optim/adam.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <sstream>

#include "tutti/kernels/amx/amx.h"
#include "tutti/models/science/gan3d/case.h"
#include "tutti/models/science/gan3d/leaky_drop.h"
#include "tutti/models/science/gan3d/losses.h"
#include "tutti/models/science/gan3d/model.h"
#include "tutti/models/science/gan3d/shower.h"
#include "tutti/models/science/gan3d/showers.h"
#include "tutti/train/task.h"

namespace tutti::models::gan3d {
namespace {

namespace fs = std::filesystem;

const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run beside each other
  return kernels::prepare_amx();
}();

constexpr NetworkShape kSmall = {16, 4, 4, 3, 0, 0.05};
constexpr NetworkShape kRelative = [] {
  NetworkShape shape = kSmall;
  shape.stride = 2;
  shape.cell_unit = 0.01;
  shape.cell_power = 0.5;
  shape.is_relative = true;
  return shape;
}();

struct RealShowers {
  torch::Tensor cells, energies;  // GeV, 100 GeV
};
RealShowers real_showers(std::int64_t count) {
  Random random(4);
  RealShowers showers{torch::empty({count, kSide, kSide, kSide}), torch::empty({count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const double energy = 20 + 180 * random.uniform();
    std::ranges::copy(make_shower(energy, random), showers.cells[i].data_ptr<float>());
    showers.energies[i] = energy / 100;
  }
  return showers;
}

torch::Tensor mean_of(const RealShowers& showers) {
  return (showers.cells / visible(showers.energies).view({-1, 1, 1, 1})).mean(0);
}

TEST(Gan3d, CountsAreThoseOfTheTable) {
  const NetworkShape shape;
  EXPECT_EQ(generator_parameters(shape), 872808);
  EXPECT_EQ(discriminator_parameters(shape), 73402);
  EXPECT_NEAR(generator_flops(shape) * 1e-9, 0.51, 0.005);
  EXPECT_NEAR(discriminator_flops(shape) * 1e-9, 1.57, 0.005);
  EXPECT_NEAR(step_flops(shape) * 1e-9, 19, 0.5);
  const std::vector<Layer> layers = generator_layers(shape);
  EXPECT_EQ(layers[0].size, (Size3{7, 7, 8}));
  EXPECT_EQ(layers[1].size, (Size3{13, 14, 9}));
  EXPECT_EQ(layers[2].size, (Size3{26, 26, 26}));
  EXPECT_EQ(layers[3].size, (Size3{25, 25, 25}));
  EXPECT_EQ(discriminator_layers(shape).back().size, (Size3{23, 23, 23}));
  Gan gan(shape, 1, torch::kFloat32);
  std::int64_t generated = 0, adversarial = 0;
  for (const auto& item : gan.named_parameters())
    (item.key().starts_with("generator.") ? generated : adversarial) += item.value().numel();
  EXPECT_EQ(generated, generator_parameters(shape));
  EXPECT_EQ(adversarial, discriminator_parameters(shape));
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b, double tolerance) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE((a - b).norm().item<double>(), tolerance * (b.norm().item<double>() + 1e-12));
}

// Enlarged for real.
torch::Tensor plain_upsampled(torch::Tensor x, const torch::Tensor& weight,
                              const torch::Tensor& bias, const Size3& factor, const Size3& p) {
  for (std::size_t a = 0; a < 3; ++a)
    x = x.repeat_interleave(factor[a], static_cast<std::int64_t>(a) + 2);
  return torch::conv3d(torch::constant_pad_nd(x, {p[2], p[2], p[1], p[1], p[0], p[0]}), weight,
                       bias);
}

TEST(UpsampledConv, IsTheConvolutionOfTheEnlargedVolume) {
  struct Case {
    Size3 size, kernel, factor, padding;
  };
  torch::manual_seed(1);
  for (const Case& c : {Case{{7, 7, 8}, {6, 5, 8}, {2, 2, 2}, {2, 2, 0}},
                        Case{{5, 6, 4}, {3, 3, 8}, {2, 2, 3}, {1, 0, 3}},
                        Case{{3, 2, 4}, {1, 2, 3}, {4, 1, 2}, {0, 1, 5}}}) {
    const auto grad = torch::TensorOptions().requires_grad(true);
    const torch::Tensor x = torch::randn({2, 3, c.size[0], c.size[1], c.size[2]}, grad),
                        w = torch::randn({4, 3, c.kernel[0], c.kernel[1], c.kernel[2]}, grad),
                        b = torch::randn({4}, grad);
    const torch::Tensor ours = upsampled_conv(x, w, b, c.factor, c.padding),
                        theirs = plain_upsampled(x, w, b, c.factor, c.padding);
    expect_close(ours, theirs, 1e-5);
    const torch::Tensor weights = torch::randn_like(theirs);
    const auto our = torch::autograd::grad({(ours * weights).sum()}, {x, w, b}),
               their = torch::autograd::grad({(theirs * weights).sum()}, {x, w, b});
    for (std::size_t i = 0; i < 3; ++i) expect_close(our[i], their[i], 1e-5);
  }
}

TEST(LeakyDrop, IsLeakyReluWithoutDropping) {
  torch::manual_seed(2);
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const torch::Tensor x = torch::randn({3, 4, 5}).to(type).set_requires_grad(true),
                        g = torch::randn({3, 4, 5}).to(type);
    const torch::Tensor ours = leaky_drop(x, 0.3, 0, 1), theirs = torch::leaky_relu(x, 0.3);
    const double tolerance = type == torch::kFloat32 ? 1e-6 : 0.01;
    expect_close(ours.to(torch::kFloat32), theirs.to(torch::kFloat32), tolerance);
    expect_close(torch::autograd::grad({ours}, {x}, {g})[0].to(torch::kFloat32),
                 torch::autograd::grad({theirs}, {x}, {g})[0].to(torch::kFloat32), tolerance);
  }
}

TEST(LeakyDrop, DropsTheShareAndKeepsTheMean) {
  const torch::Tensor x = torch::ones({100000}).set_requires_grad(true);
  const torch::Tensor y = leaky_drop(x, 0.3, 0.2, 9);
  EXPECT_NEAR((y == 0).to(torch::kFloat64).mean().item<double>(), 0.2, 0.005);
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.007);
  EXPECT_TRUE(torch::equal(y, leaky_drop(x, 0.3, 0.2, 9)));
  EXPECT_FALSE(torch::equal(y, leaky_drop(x, 0.3, 0.2, 10)));
  EXPECT_TRUE(torch::equal(torch::autograd::grad({y.sum()}, {x})[0], y.detach()));
  // Neighbours are independent.
  const torch::Tensor dropped = (y == 0).to(torch::kFloat64);
  EXPECT_NEAR((dropped.slice(0, 1) * dropped.slice(0, 0, -1)).mean().item<double>(), 0.04, 0.003);
}

// The discriminator with plain operations.
torch::Tensor plain_logit(Discriminator& network, torch::Tensor x, std::int64_t kernel) {
  const auto p = network.named_parameters();
  const auto b = network.named_buffers();
  x = x.unsqueeze(1);
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "conv" + std::to_string(i) + "_";
    x = torch::conv3d(x, p[name + "weight"], p[name + "bias"], 1, kernel / 2 - (i == 4 ? 1 : 0));
    x = torch::leaky_relu(x, 0.3);
    if (i > 1)
      x = torch::batch_norm(x, p[name + "scale"], p[name + "shift"], b[name + "mean"].clone(),
                            b[name + "variance"].clone(), network.is_training(), 0.01, 1e-3, false);
  }
  return torch::nn::functional::linear(torch::avg_pool3d(x, 2).flatten(1), p["heads_weight"],
                                       p["heads_bias"]);
}

TEST(Gan3d, DiscriminatorAgreesWithPlainOperations) {
  torch::manual_seed(3);
  NetworkShape shape = kSmall;
  shape.filters = 16;
  const torch::Tensor cells = torch::rand({2, kSide, kSide, kSide});
  for (const auto& [type, tolerance] :
       {std::pair(torch::kFloat32, 1e-4), std::pair(torch::kBFloat16, 0.06)}) {
    Gan gan(shape, 4, type);
    const DiscriminatorOutput ours = gan.discriminator->forward(cells, 0);
    (ours.logit.sum() + 2 * ours.energy.sum()).backward();
    std::vector<torch::Tensor> gradients;
    for (torch::Tensor& parameter : gan.discriminator->parameters()) {
      gradients.push_back(parameter.grad().clone());
      parameter.mutable_grad() = torch::Tensor();
    }
    const torch::Tensor theirs = plain_logit(*gan.discriminator, cells, shape.kernel);
    (theirs.select(1, 0).sum() + 2 * theirs.select(1, 1).sum()).backward();
    expect_close(ours.logit, theirs.select(1, 0), tolerance);
    expect_close(ours.energy, theirs.select(1, 1), tolerance);
    if (type != torch::kFloat32) continue;  // behind a norm, gradients of sums are differences
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const torch::Tensor reference = gan.discriminator->parameters()[i].grad();
      if (reference.norm().item<double>() > 1e-3) expect_close(gradients[i], reference, 1e-2);
    }
  }
}

// The exported network is the plain formulation.
TEST(Gan3d, ExportedGeneratorMakesTheSameShowers) {
  for (const NetworkShape& shape : {kSmall, kRelative}) {
    Gan gan(shape, 5, torch::kFloat32);
    if (shape.is_relative) gan.generator->set_mean_shower(torch::rand({kSide, kSide, kSide}));
    {
      const torch::NoGradGuard no_gradients;  // norms that have seen something
      for (int i = 0; i < 3; ++i)
        gan.generator->forward(torch::ones({8}), torch::randn({8, shape.latent}));
    }
    gan.eval();
    std::stringstream file;
    gan.generator->export_script(file);
    const torch::Tensor noise = torch::randn({3, shape.latent}),
                        energies = torch::tensor({10.f, 100.f, 400.f});
    const torch::Tensor theirs = torch::jit::load(file).forward({energies, noise}).toTensor();
    expect_close(gan.generator->forward(energies / 100, noise), theirs, 1e-4);
    EXPECT_GT(theirs.max().item<double>(), 0);
    EXPECT_GE(theirs.min().item<double>(), 0);
  }
}

// Sum of the cells relative to the expected sum, before training.
double first_response(const NetworkShape& shape, const torch::Tensor& mean_shower) {
  const torch::NoGradGuard no_gradients;
  Gan gan(shape, 7, torch::kFloat32);
  if (shape.is_relative) gan.generator->set_mean_shower(mean_shower);
  const Electrons electrons = draw_electrons(8, shape.latent, 1);
  const torch::Tensor cells = gan.generator->forward(electrons.energies, electrons.noise);
  return (cells.sum({1, 2, 3}) / visible(electrons.energies)).mean().item<double>();
}

// The published generator begins with showers that are a thousand times too bright, and has to learn that first; one
// that makes multiples of the mean shower begins near it.
TEST(Gan3d, BeginsNearTheMeanShower) {
  const torch::Tensor mean = mean_of(real_showers(16));
  EXPECT_NEAR(mean.sum().item<double>(), 1, 0.1);
  EXPECT_NEAR(first_response(kRelative, mean), 1, 0.3);
  EXPECT_GT(first_response(kSmall, mean), 100);
}

// The discriminator alone learns to predict the energy of the electron from real showers. The error of single steps
// fluctuates and depends on rounding, so the test uses the smallest one.
TEST(Gan3d, DiscriminatorAloneLearnsEnergies) {
  Gan gan(kRelative, 2, torch::kFloat32);
  const RealShowers showers = real_showers(8);
  torch::optim::Adam rule(gan.discriminator->parameters(), torch::optim::AdamOptions(1e-2));
  double error = 100;
  for (int i = 0; i < 80; ++i) {
    rule.zero_grad();
    const DiscriminatorOutput output = gan.discriminator->forward(showers.cells, std::uint64_t(i));
    const torch::Tensor loss = discriminator_loss(output, torch::ones({8}), showers.energies, {});
    loss.backward();
    rule.step();
    error = std::min(error, relative_error(output.energy, showers.energies).item<double>());
  }
  EXPECT_LT(error, 15);
}

// The generator alone, with a frozen discriminator, learns the total energy.
TEST(Gan3d, GeneratorAloneLearnsTheSum) {
  Gan gan(kRelative, 3, torch::kFloat32);
  gan.generator->set_mean_shower(0.5 * mean_of(real_showers(16)));  // so that it is wrong at first
  torch::optim::Adam rule(gan.generator->parameters(), torch::optim::AdamOptions(1e-2));
  double first = 0, last = 0;
  for (int i = 0; i < 20; ++i) {
    rule.zero_grad();
    const Electrons electrons = draw_electrons(4, kRelative.latent, std::uint64_t(i));
    const torch::Tensor cells = gan.generator->forward(electrons.energies, electrons.noise);
    generator_loss(gan.discriminator->forward(cells, 0, Norms::kKeep), cells, electrons.energies,
                   {0, 0, 0.1})
        .backward();
    rule.step();
    last = relative_error(cells.sum({1, 2, 3}), visible(electrons.energies)).item<double>();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.5 * first);
}

std::pair<RealShowers, RealShowers> two_halves() {
  const RealShowers showers = real_showers(48);
  const auto half = [&](std::int64_t from) {
    return RealShowers{showers.cells.narrow(0, from, 24), showers.energies.narrow(0, from, 24)};
  };
  return {half(0), half(24)};
}

TEST(Gan3dLosses, ProfileDistanceSeparatesDistributions) {
  const auto [a, b] = two_halves();
  auto distance = [&a = a, &b = b](const torch::Tensor& generated) {
    return profile_distance(generated, a.energies, b.cells, b.energies).item<double>();
  };
  const double alike = distance(a.cells);
  EXPECT_LT(std::abs(alike), 0.03);
  EXPECT_GT(distance(1.3 * a.cells), alike + 0.02);                          // too much energy
  EXPECT_GT(distance(a.cells.roll(3, 3)), alike + 0.05);                     // too deep
  EXPECT_GT(distance(mean_of(b) * visible(a.energies).view({-1, 1, 1, 1})),  // all the same
            alike + 0.02);
  const torch::Tensor same = b.cells.clone().set_requires_grad(true);
  profile_distance(same, b.energies, b.cells, b.energies).backward();
  EXPECT_TRUE(torch::isfinite(same.grad()).all().item<bool>());
}

TEST(Gan3dLosses, ResponseDistanceSeparatesDistributions) {
  const auto [a, b] = two_halves();
  auto distance = [&a = a, &b = b](const torch::Tensor& generated) {
    return response_distance(generated, a.energies, b.cells, b.energies).item<double>();
  };
  const torch::Tensor sums = (a.cells.sum({1, 2, 3}) / visible(a.energies)).view({-1, 1, 1, 1});
  const double alike = distance(a.cells);
  EXPECT_LT(std::abs(alike), 0.03);
  EXPECT_NEAR(distance(a.cells.roll(3, 3)), alike, 1e-3);      // whatever the shape
  EXPECT_GT(distance(1.1 * a.cells), alike + 0.1);             // too much energy
  EXPECT_GT(distance(a.cells / sums), alike + 0.02);           // all the same
  EXPECT_GT(distance(a.cells * sums.square()), alike + 0.02);  // thrice as wide
}

// The loss of the generator through both networks, compared with finite differences along its gradient.
TEST(Gan3d, GradientsOfTheGeneratorAreSlopes) {
  Gan gan(kSmall, 6, torch::kFloat32);
  gan.eval();
  const Electrons electrons = draw_electrons(2, kSmall.latent, 1);
  auto value = [&] {
    const torch::Tensor cells = gan.generator->forward(electrons.energies, electrons.noise);
    return generator_loss(gan.discriminator->forward(cells, 0), cells, electrons.energies, {});
  };
  value().backward();
  for (const auto& item : gan.generator->named_parameters()) {
    torch::Tensor parameter = item.value();
    const torch::Tensor direction = parameter.grad() / parameter.grad().norm();
    const double slope = parameter.grad().norm().item<double>(), step = 0.1 / slope;
    const torch::NoGradGuard no_gradients;
    parameter.add_(direction, step);
    const double above = value().item<double>();
    parameter.add_(direction, -2 * step);
    const double below = value().item<double>();
    parameter.add_(direction, step);
    EXPECT_NEAR((above - below) / (2 * step) / slope, 1, 0.1) << item.key();
  }
}

TEST(Gan3dLosses, AreThoseOfTheFormulas) {
  const torch::Tensor energies = torch::tensor({1.f, 4.f});
  const DiscriminatorOutput output{torch::tensor({0.f, 2.f}), torch::tensor({1.1f, 3.f})};
  // BCE of sigmoid(0) and sigmoid(2) with labels 1; errors of 10 % and 25 %.
  const double adversarial = 0.5 * (std::log(2.0) + std::log1p(std::exp(-2.0)));
  EXPECT_NEAR(discriminator_loss(output, torch::ones({2}), energies, {6, 0.2, 0.1}).item<float>(),
              6 * adversarial + 0.2 * 17.5, 1e-4);
  const torch::Tensor cells = torch::zeros({2, 1, 1, 2});
  cells[0][0][0][0] = visible(1.0);      // right
  cells[1][0][0][1] = visible(4.0) / 2;  // half
  EXPECT_NEAR(generator_loss(output, cells, energies, {6, 0.2, 0.1}).item<float>(),
              6 * adversarial + 0.2 * 17.5 + 0.1 * 25, 1e-3);
  EXPECT_NEAR(visible(1.0), 2.02, 0.01);
  EXPECT_NEAR(visible(5.0), 9.05, 0.05);
}

TEST(Gan3dLosses, ElectronsAreEvenAndNoiseIsNormal) {
  const Electrons drawn = draw_electrons(4000, 8, 3);
  EXPECT_GE(drawn.energies.min().item<float>(), 0.1f);
  EXPECT_LE(drawn.energies.max().item<float>(), 5.f);
  EXPECT_NEAR(drawn.energies.mean().item<double>(), 2.55, 0.07);
  EXPECT_NEAR(drawn.noise.std().item<double>(), 1, 0.02);
  EXPECT_TRUE(torch::equal(drawn.noise, draw_electrons(4000, 8, 3).noise));
}

class Gan3dTaskTest : public testing::Test {
 protected:
  Gan3dTaskTest() : table_(case_info().table()) {
    std::string form = fs::temp_directory_path() / "gan3d-XXXXXX";
    base_ = mkdtemp(form.data());
    setenv("XDG_CACHE_HOME", base_.c_str(), 1);
  }
  ~Gan3dTaskTest() override { fs::remove_all(base_); }

  Options options(const train::Settings& more = {}) {
    train::Settings settings = {{"size", "tiny"},
                                {"latent", "8"},
                                {"filters", "4"},
                                {"generator_filters", "4"},
                                {"batch", "4"},
                                {"train_showers", "8"},
                                {"test_showers", "4"},
                                {"checkpoint_seconds", "0"},
                                {"generator_updates", "2"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return train::resolve(case_info(), table_, settings);
  }

  const OptionTable table_;
  fs::path base_;
};

// Each update gives gradients to one network only, and to all of it.
TEST_F(Gan3dTaskTest, AnUpdateIsOfOneNetwork) {
  const Options chosen = options();
  const auto task = make_task(chosen);
  const train::Batch batch = task->random_batch(3);
  const std::vector<train::Update> updates = task->updates();
  ASSERT_EQ(updates.size(), 4u);
  for (std::size_t u = 0; u < updates.size(); ++u) {
    for (const auto& item : task->model().named_parameters()) {
      item.value().mutable_grad() = torch::Tensor();
      item.value().set_requires_grad(item.key().starts_with(updates[u].prefix));
    }
    task->update_loss(u, batch, 7).backward();
    for (const auto& item : task->model().named_parameters()) {
      const torch::Tensor& gradient = item.value().grad();
      EXPECT_EQ(gradient.defined(), item.key().starts_with(updates[u].prefix)) << u << item.key();
      if (!gradient.defined()) continue;
      EXPECT_GT(gradient.abs().max().item<float>(), 0) << u << item.key();
    }
  }
}

// Running statistics of the discriminator's norms follow its training batches, those of the generator the batches of
// its own updates.
TEST_F(Gan3dTaskTest, NormsFollowTheirOwnUpdates) {
  const Options chosen = options();
  const auto task = make_task(chosen);
  const train::Batch batch = task->random_batch(3);
  for (std::size_t u = 0; u < 4; ++u) {
    std::map<std::string, torch::Tensor> before;
    for (const auto& item : task->model().named_buffers())
      before[item.key()] = item.value().clone();
    task->update_loss(u, batch, 7);
    for (const auto& item : task->model().named_buffers())
      EXPECT_EQ(!torch::equal(item.value(), before[item.key()]),
                item.key().starts_with(u < 2 ? "discriminator.conv" : "generator.conv"))
          << u << item.key();
  }
}

// Showers generated for a file of energies can be read and evaluated by the discriminator.
TEST_F(Gan3dTaskTest, ShowersForEnergies) {
  const Options chosen = options();
  const auto task = make_task(chosen);
  task->model().eval();
  const torch::NoGradGuard no_gradients;
  train::H5File file(base_ / "energies.h5", train::H5File::Mode::kCreate);
  for (float energy : {50.f, 300.f})
    file.append("target", std::vector<std::int64_t>{2}, std::vector<float>{11, energy});
  file.close();
  EXPECT_TRUE(task->predict_samples(base_ / "energies.h5", base_ / "showers.h5"));
  EXPECT_EQ(ShowerFiles(base_, "showers.h5").energy(1), 300);
  const auto rows = task->predict(base_ / "showers.h5");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_GT(rows[0][0], 0);
  EXPECT_LT(rows[0][0], 1);
}

}  // namespace
}  // namespace tutti::models::gan3d
