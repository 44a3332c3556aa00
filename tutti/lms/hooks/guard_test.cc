#include "tutti/lms/hooks/guard.h"

#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "tutti/core/test_error.h"
#include "tutti/lms/planner.h"

namespace tutti::lms {
namespace {

namespace nn = torch::nn;
using torch::Tensor;
constexpr std::int64_t kMiB = 1 << 20;

// Test networks: input size and modules. `variant` changes the graph.
struct Net : nn::Module {
  virtual Tensor input() const = 0;
  virtual Tensor forward(Tensor x, int variant) = 0;
};

struct Cnn final : Net {
  Cnn() {
    for (int i = 0; i < 4; ++i) {
      convs.push_back(register_module("conv" + std::to_string(i),
                                      nn::Conv2d(nn::Conv2dOptions(i ? 16 : 3, 16, 3).padding(1))));
      norms.push_back(register_module("norm" + std::to_string(i), nn::BatchNorm2d(16)));
    }
    head = register_module("head", nn::Linear(16, 10));
  }
  Tensor input() const override { return torch::randn({4, 3, 48, 48}); }
  Tensor forward(Tensor x, int variant) override {
    for (std::size_t i = 0; i < convs.size() - static_cast<std::size_t>(variant); ++i) {
      const Tensor y = torch::relu(norms[i]->forward(convs[i]->forward(x)));
      x = i % 2 ? x + y : torch::dropout(y, 0.25, true);
    }
    return head->forward(torch::max_pool2d(x, 4).mean({2, 3}));
  }
  std::vector<nn::Conv2d> convs;
  std::vector<nn::BatchNorm2d> norms;
  nn::Linear head = nullptr;
};

struct UNet3d final : Net {
  UNet3d() {
    const auto conv = [&](const char* name, int in, int out) {
      return register_module(name, nn::Conv3d(nn::Conv3dOptions(in, out, 3).padding(1)));
    };
    first = conv("first", 1, 8);
    down = conv("down", 8, 16);
    up = conv("up", 24, 8);
    last = conv("last", 8, 2);
    norm = register_module("norm", nn::BatchNorm3d(16));
  }
  Tensor input() const override { return torch::randn({5, 1, 24, 24, 24}); }
  Tensor forward(Tensor x, int variant) override {
    const Tensor skip = torch::leaky_relu(first->forward(x));
    Tensor y = torch::max_pool3d(skip, 2);
    for (int i = 0; i <= variant; ++i) y = i ? torch::relu(y) : norm->forward(down->forward(y));
    y = torch::upsample_nearest3d(y, {24, 24, 24});
    y = torch::relu(up->forward(torch::cat({skip, y}, 1)));
    return last->forward(y);
  }
  nn::Conv3d first = nullptr, down = nullptr, up = nullptr, last = nullptr;
  nn::BatchNorm3d norm = nullptr;
};

struct Transformer final : Net {
  Transformer() {
    for (int i = 0; i < 3; ++i)
      layers.push_back(register_module(
          "layer" + std::to_string(i),
          nn::TransformerEncoderLayer(
              nn::TransformerEncoderLayerOptions(64, 4).dim_feedforward(256).dropout(0.1))));
  }
  Tensor input() const override { return torch::randn({128, 4, 64}); }
  Tensor forward(Tensor x, int variant) override {
    for (std::size_t i = 0; i < layers.size() - static_cast<std::size_t>(variant); ++i)
      x = layers[i]->forward(x);
    return x;
  }
  std::vector<nn::TransformerEncoderLayer> layers;
};

// Losses, and all gradients after each step, as bytes.
using Outcome = std::vector<std::string>;

void append(Outcome& outcome, const Tensor& tensor) {
  const Tensor dense = tensor.detach().contiguous();
  outcome.emplace_back(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
}

// Trains for some steps; `variant_of` returns the graph variant of a step.
template <class Network>
Outcome train(int steps, const std::function<int(int)>& variant_of,
              const std::function<void()>& after_step = {}) {
  torch::manual_seed(7);
  Network network;
  torch::optim::Adam optimizer(network.parameters(), 1e-3);
  Outcome outcome;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = network.input();
    optimizer.zero_grad();
    const Tensor loss = network.forward(x, variant_of(step)).square().mean();
    loss.backward();
    append(outcome, loss);
    for (const Tensor& parameter : network.parameters())
      if (parameter.grad().defined()) append(outcome, parameter.grad());
    optimizer.step();
    if (after_step) after_step();
  }
  return outcome;
}

int same_graph(int) {
  return 0;
}

struct Measured {
  Outcome outcome;
  SessionStatistics statistics;
};

// Small blocks are managed, too, so small networks move many of them.
GuardOptions small_blocks(std::int64_t budget) {
  GuardOptions options;
  options.budget = budget;
  options.minimum_bytes = 16 << 10;
  options.verifies = true;
  return options;
}

template <class Network>
Measured train_with(const GuardOptions& options, int steps,
                    const std::function<int(int)>& variant_of = &same_graph) {
  const Guard guard(options);
  Measured result;
  result.outcome = train<Network>(steps, variant_of);
  result.statistics = guard.statistics();
  EXPECT_LE(result.statistics.pager.peak_resident, options.budget);
  return result;
}

// A budget with which many blocks have to move: 60 % of the peak, or a little more than the largest working set.
template <class Network>
std::int64_t tight_budget() {
  static const std::int64_t budget = [] {
    GuardOptions options = small_blocks(1024 * kMiB);
    options.plans = false;
    const Guard guard(options);
    train<Network>(2, &same_graph);
    return std::max(peak_bytes(guard.trace()) * 6 / 10,
                    minimum_budget(guard.trace(), {}).bytes * 11 / 10);
  }();
  return budget;
}

// The outcome without large model support.
template <class Network>
Outcome expected_outcome(std::size_t entries) {
  static const Outcome outcome = train<Network>(6, &same_graph);
  return {outcome.begin(), outcome.begin() + static_cast<std::ptrdiff_t>(entries)};
}

template <class Network>
class GuardTest : public testing::Test {
 protected:
  void SetUp() override { torch::set_num_threads(1); }
};
using Networks = testing::Types<Cnn, UNet3d, Transformer>;
TYPED_TEST_SUITE(GuardTest, Networks);

TYPED_TEST(GuardTest, PassiveStepsAreBitwiseIdentical) {
  GuardOptions options = small_blocks(tight_budget<TypeParam>());
  options.plans = false;
  const Measured result = train_with<TypeParam>(options, 3);
  EXPECT_EQ(result.outcome, expected_outcome<TypeParam>(result.outcome.size()));
  EXPECT_GT(result.statistics.pager.page_ins, 0);
  EXPECT_EQ(result.statistics.planned_steps, 0);
}

TYPED_TEST(GuardTest, PlannedStepsAreBitwiseIdentical) {
  const Measured result = train_with<TypeParam>(small_blocks(tight_budget<TypeParam>()), 6);
  EXPECT_EQ(result.outcome, expected_outcome<TypeParam>(result.outcome.size()));
  EXPECT_GT(result.statistics.pager.page_ins, 0);
  EXPECT_GE(result.statistics.planned_steps, 2);
}

TYPED_TEST(GuardTest, RecomputedStepsAreBitwiseIdentical) {
  GuardOptions options = small_blocks(tight_budget<TypeParam>() * 11 / 10);
  options.mode = Mode::kRecompute;
  const Measured result = train_with<TypeParam>(options, 6);
  EXPECT_EQ(result.outcome, expected_outcome<TypeParam>(result.outcome.size()));
  EXPECT_GT(result.statistics.pager.drops, 0);
}

TYPED_TEST(GuardTest, RecomputedStepsSurviveChangedGraphs) {
  const auto variant_of = [](int step) { return step == 7 || step == 9 ? 1 : 0; };
  GuardOptions options = small_blocks(tight_budget<TypeParam>() * 11 / 10);
  options.mode = Mode::kRecompute;
  const Measured result = train_with<TypeParam>(options, 11, variant_of);
  EXPECT_EQ(result.outcome, train<TypeParam>(11, variant_of));
  EXPECT_GT(result.statistics.pager.drops, 0);
}

TYPED_TEST(GuardTest, FullModeIsBitwiseIdentical) {
  GuardOptions options = small_blocks(tight_budget<TypeParam>());
  options.mode = Mode::kFull;
  const Outcome outcome = train_with<TypeParam>(options, 6).outcome;
  EXPECT_EQ(outcome, expected_outcome<TypeParam>(outcome.size()));
}

TYPED_TEST(GuardTest, ChangedGraphsAreBitwiseIdentical) {
  const auto variant_of = [](int step) { return step == 4 || step == 7 ? 1 : 0; };
  const Outcome expected = train<TypeParam>(9, variant_of);
  const Measured result =
      train_with<TypeParam>(small_blocks(tight_budget<TypeParam>()), 9, variant_of);
  EXPECT_EQ(result.outcome, expected);
}

TYPED_TEST(GuardTest, SlowDisksAreBitwiseIdentical) {
  GuardOptions options = small_blocks(tight_budget<TypeParam>());
  options.faults = [](const io::RequestInfo& request) -> io::Fault {
    return {.most_bytes = request.offset % 3 == 0 ? request.bytes / 2 : 0,
            .delay = std::chrono::microseconds(300)};
  };
  const Outcome outcome = train_with<TypeParam>(options, 4).outcome;
  EXPECT_EQ(outcome, expected_outcome<TypeParam>(outcome.size()));
}

TEST(Guard, NothingMovesIfEverythingFits) {
  const Measured result = train_with<Cnn>(small_blocks(512 * kMiB), 3);
  EXPECT_EQ(result.statistics.pager.bytes_written, 0);
  EXPECT_EQ(result.statistics.pager.faults, 0);
}

TEST(Guard, UnusedTensorsLeaveInFullMode) {
  GuardOptions options = small_blocks(tight_budget<Cnn>() + kMiB);
  options.mode = Mode::kFull;
  const Guard guard(options);
  const Tensor unused = torch::full({kMiB / 2}, 5.0F);  // 2 MiB
  const Outcome outcome = train<Cnn>(6, &same_graph);
  EXPECT_EQ(outcome, expected_outcome<Cnn>(outcome.size()));
  EXPECT_TRUE(unused.eq(5).all().item<bool>());
  EXPECT_GE(guard.statistics().planned_steps, 2);
}

TEST(Guard, ThreadsUseOneBudget) {
  torch::set_num_threads(2);
  const Outcome expected = train<UNet3d>(3, &same_graph);
  const Tensor fixed = torch::ones({4, 3, 64, 64}), kernel = torch::ones({16, 3, 3, 3});
  const auto convolve = [&] { return torch::relu(torch::conv2d(fixed, kernel)).sum(); };
  const Tensor expected_sum = convolve();
  const std::int64_t budget = tight_budget<UNet3d>() + 4 * kMiB;
  const Guard guard(small_blocks(budget));
  std::atomic<bool> stops = false, is_equal = true;
  std::jthread other([&] {
    while (!stops) is_equal = is_equal && torch::equal(convolve(), expected_sum);
  });
  const Outcome outcome = train<UNet3d>(3, &same_graph);
  stops = true;
  other.join();
  EXPECT_EQ(outcome, expected);
  EXPECT_TRUE(is_equal);
  EXPECT_LE(guard.statistics().pager.peak_resident, budget);
  torch::set_num_threads(1);
}

// Zeros of ReLU outputs, indices of pooling and masks of dropout.
TEST(Guard, EncodedStepsAreBitwiseIdentical) {
  const auto steps = [] {
    torch::manual_seed(5);
    Tensor weight = torch::ones({kMiB}).set_requires_grad(true);
    Outcome outcome;
    for (int step = 0; step < 6; ++step) {
      const Tensor x = torch::relu(torch::randn({1, 1, 1024, 1024}) * weight.view({1024, 1024}));
      const auto [pooled, indices] = torch::max_pool2d_with_indices(x, 2);
      Tensor y = torch::dropout(pooled, 0.5, true).reshape({-1});
      for (int i = 0; i < 4; ++i) y = torch::cos(torch::cat({y, y}).slice(0, 0, y.numel()));
      const Tensor large = torch::ones({4 * kMiB});  // 16 MiB; the others have to leave
      const Tensor loss = y.sum() + large.sum();
      loss.backward();
      append(outcome, loss);
      append(outcome, weight.grad());
      weight.mutable_grad().zero_();
    }
    return outcome;
  };
  const Outcome expected = steps();
  GuardOptions options = small_blocks(40 * kMiB);
  options.mode = Mode::kSwap;
  options.faults = [](const io::RequestInfo&) -> io::Fault {
    return {.delay = std::chrono::milliseconds(150)};  // a slow disk, so that encodings save time
  };
  const Guard guard(options);
  EXPECT_EQ(steps(), expected);
  EXPECT_GT(guard.statistics().pager.encoded, 0);
}

// A raw access to a dropped tensor, and an operator that modifies the input of the recomputation.
TEST(Guard, UnplannedUsesOfDroppedTensorsRecomputeThem) {
  GuardOptions options{.budget = 21 * kMiB};
  options.mode = Mode::kRecompute;
  options.verifies = true;
  const Guard guard(options);
  Tensor weight = torch::ones({kMiB}).set_requires_grad(true);  // 4 MiB
  const auto step = [&](bool reads, bool modifies) {
    Tensor x = torch::full({kMiB}, 2.0F);
    const Tensor y = torch::relu(x);
    {
      const Tensor other = torch::full({2 * kMiB}, 1.0F);
    }  // y has to leave
    const std::int64_t drops = guard.statistics().pager.drops;
    if (reads) {
      EXPECT_EQ(y.data_ptr<float>()[5], 2.0F);
    }
    if (modifies) x.add_(1);
    const Tensor loss = (weight * y).sum();
    EXPECT_EQ(loss.item<float>(), 2 * float(kMiB));
    loss.backward();
    weight.mutable_grad().zero_();
    return drops;
  };
  std::int64_t drops = 0;
  for (int i = 0; i < 4; ++i) drops = step(false, false);
  EXPECT_GT(drops, 0);
  step(true, false);
  for (int i = 0; i < 3; ++i) step(false, false);
  step(false, true);
}

TEST(Guard, ErrorNamesOperatorWorkingSetAndBudget) {
  const Guard guard({.budget = 8 * kMiB});
  const std::string message =
      error_of([] { torch::relu(torch::ones({3 * kMiB / 4, 3})); });  // 9 MiB each
  EXPECT_NE(message.find("DDL-5-70"), std::string::npos) << message;
  EXPECT_NE(message.find("aten::ones"), std::string::npos) << message;
  EXPECT_NE(message.find("Raise the budget to 9MiB or more"), std::string::npos) << message;
}

TEST(Guard, FullDisksAreReportedByTheOperator) {
  GuardOptions options{.budget = 8 * kMiB};
  options.plans = false;
  options.faults = [](const io::RequestInfo& request) -> io::Fault {
    return {.error = request.is_write ? ENOSPC : 0};
  };
  const Guard guard(options);
  const Tensor a = torch::full({kMiB}, 1.0F);
  const Tensor b = torch::full({kMiB}, 2.0F);
  const std::string message = error_of([&] { torch::full({kMiB}, 3.0F); });
  EXPECT_NE(message.find("DDL-5-72"), std::string::npos) << message;
  EXPECT_EQ(a.sum().item<float>(), float(kMiB));
  EXPECT_EQ(b.sum().item<float>(), 2 * float(kMiB));
}

// The swap file has no name and stays usable.
TEST(Guard, ARemovedDirectoryDoesNotMatter) {
  GuardOptions options = small_blocks(tight_budget<Cnn>());
  options.swap_dir =
      std::filesystem::temp_directory_path() / ("tutti-guard-" + std::to_string(::getpid()));
  std::filesystem::create_directory(options.swap_dir);
  const Guard guard(options);
  std::filesystem::remove(options.swap_dir);
  const Outcome outcome = train<Cnn>(5, &same_graph);
  EXPECT_EQ(outcome, expected_outcome<Cnn>(outcome.size()));
  EXPECT_GT(guard.statistics().pager.page_ins, 0);
  EXPECT_GT(guard.statistics().planned_steps, 0);
}

TEST(Guard, FailedReadsAreReportedByTheOperator) {
  GuardOptions options{.budget = 9 * kMiB};
  options.plans = false;
  std::atomic<bool> fails = true;
  options.faults = [&](const io::RequestInfo& request) -> io::Fault {
    return {.error = !request.is_write && fails ? EIO : 0};
  };
  const Guard guard(options);
  const Tensor a = torch::full({kMiB}, 1.0F), b = torch::full({kMiB}, 2.0F);
  const Tensor c = torch::full({kMiB}, 3.0F);  // a has to leave
  const std::string message = error_of([&] { torch::relu(a); });
  EXPECT_NE(message.find("DDL-5-74"), std::string::npos) << message;
  fails = false;
  EXPECT_EQ(torch::relu(a).sum().item<float>(), float(kMiB));
  EXPECT_EQ(b.sum().item<float>(), 2 * float(kMiB));
}

TEST(Guard, TensorsOutliveTheGuard) {
  Tensor a, b, c;
  {
    const Guard guard({.budget = 9 * kMiB});
    a = torch::full({kMiB}, 1.0F);
    b = torch::full({kMiB}, 2.0F);
    c = torch::full({kMiB}, 3.0F);
    EXPECT_GT(guard.statistics().pager.page_outs, 0);
    EXPECT_NE(error_of([] { const Guard second({.budget = kMiB}); }).find("DDL-5-75"),
              std::string::npos);
  }
  EXPECT_EQ((a + b + c).sum().item<float>(), 6 * float(kMiB));
  const Guard guard({.budget = 64 * kMiB});
  EXPECT_EQ((a + b + c).sum().item<float>(), 6 * float(kMiB));
}

TEST(Guard, OptionsAreDividedAmongRanks) {
  Options options(lms_options());
  options.set("budget", "2GiB");
  options.set("mode", "full");
  const GuardOptions result = guard_options(options, 4);
  EXPECT_EQ(result.budget, 512 * kMiB);
  EXPECT_TRUE(result.planner.movable.with_persistent);
  options.set("budget", "auto");
  EXPECT_GT(guard_options(options, 1).budget, guard_options(options, 8).budget);
  options.set("budget", "0");
  EXPECT_NE(error_of([&] { guard_options(options); }).find("DDL-1-03"), std::string::npos);
}

TEST(Guard, RawPointersFaultIn) {
  const Guard guard({.budget = 9 * kMiB});
  const Tensor a = torch::full({kMiB}, 1.0F);
  const float* const raw = a.data_ptr<float>();
  const Tensor b = torch::full({kMiB}, 2.0F), c = torch::full({kMiB}, 3.0F);
  float sum = 0;
  for (std::int64_t i = 0; i < kMiB; ++i) sum += raw[i];
  EXPECT_EQ(sum, float(kMiB));
  EXPECT_GT(guard.statistics().pager.faults, 0);
}

TEST(Guard, RecordsAValidTraceAndNoUnplannedReads) {
  const std::int64_t budget = tight_budget<Cnn>() * 12 / 10;
  const Guard guard(small_blocks(budget));
  std::int64_t unplanned = -1;
  train<Cnn>(7, &same_graph, [&] { unplanned = guard.statistics().last_unplanned_reads; });
  const Trace trace = guard.trace();
  validate(trace);
  EXPECT_GT(trace.operators.size(), 50U);
  EXPECT_LE(minimum_budget(trace, {}).bytes, budget);
  EXPECT_GT(guard.plan().decisions.size(), 0U);
  EXPECT_EQ(unplanned, 0);
  EXPECT_NE(guard.report().find(" steps, "), std::string::npos) << guard.report();
  EXPECT_NE(guard.report_json().find("\"step\":{"), std::string::npos) << guard.report_json();
}

}  // namespace
}  // namespace tutti::lms
