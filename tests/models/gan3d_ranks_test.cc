// The gan3d workload on two thread-ranks.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/kernels/amx/amx.h"
#include "tutti/models/science/gan3d/case.h"
#include "tutti/models/science/gan3d/losses.h"
#include "tutti/runs/training_log.h"
#include "tutti/train/batch_norm.h"
#include "tutti/train/collective_guard.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/task.h"
#include "tutti/train/trainer.h"

namespace tutti::models::gan3d {
namespace {

namespace fs = std::filesystem;

const kernels::Amx kAmx = [] {  // before the first convolution
  at::set_num_threads(1);       // tests run in parallel
  return kernels::prepare_amx();
}();

constexpr NetworkShape kSmall = {16, 4, 4, 3, 0, 0.05};

// Gradients of all parameters of both networks, by name.
std::map<std::string, torch::Tensor> all_gradients(Gan& gan, const Electrons& electrons) {
  const torch::Tensor cells = gan.generator->forward(electrons.energies, electrons.noise);
  generator_loss(gan.discriminator->forward(cells, 0), cells, electrons.energies, {}).backward();
  std::map<std::string, torch::Tensor> gradients;
  for (const auto& item : gan.named_parameters()) gradients[item.key()] = item.value().grad();
  return gradients;
}

// With synchronised batch norm, the mean gradient of parts of a batch is that of the batch.
TEST(Gan3d, HalvesOnTwoRanksAreTheWhole) {
  const Electrons electrons = draw_electrons(4, kSmall.latent, 2);
  Gan whole(kSmall, 8, torch::kFloat32);
  const auto expected = all_gradients(whole, electrons);
  comm::ThreadWorld world(2);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    const auto norms = communicator->split(0);
    const train::SyncBatchNormScope shared(*norms);
    Gan part(kSmall, 8, torch::kFloat32);
    const std::int64_t first = 2 * transport.rank();
    auto gradients = all_gradients(
        part, {electrons.energies.narrow(0, first, 2), electrons.noise.narrow(0, first, 2)});
    for (auto& [name, gradient] : gradients) {
      torch::Tensor mean = gradient.contiguous();
      communicator->all_reduce({mean.data_ptr(), mean.numel(), DType::kF32}, ReduceOp::kAverage,
                               {.name = name});
      EXPECT_LT((mean - expected.at(name)).norm().item<double>(),
                0.01 * expected.at(name).norm().item<double>() + 1e-4)
          << name;
    }
  });
}

class Gan3dRanks : public testing::Test {
 protected:
  Gan3dRanks() : table_(case_info().table()) {
    std::string form = fs::temp_directory_path() / "gan3d-XXXXXX";
    base_ = mkdtemp(form.data());
    setenv("XDG_CACHE_HOME", base_.c_str(), 1);
  }
  ~Gan3dRanks() override { fs::remove_all(base_); }

  Options options(const train::Settings& more) {
    train::Settings settings = {{"size", "tiny"},         {"latent", "8"},
                                {"batch", "2"},           {"train_showers", "16"},
                                {"test_showers", "4"},    {"checkpoint_seconds", "0"},
                                {"keep_checkpoints", "9"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return train::resolve(case_info(), table_, settings);
  }

  // The whole last checkpoint as bytes.
  std::vector<std::byte> train_on(int ranks, const std::string& name, const Options& options,
                                  bool resumes = false) {
    fs::create_directories(base_ / name / "plots");
    const train::TrainJob job{"gan3d", options, base_ / name, resumes};
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      at::set_num_threads(1);
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      const auto task = make_task(options);
      task->prepare(*communicator);
      try {
        train::train(*task, *communicator, job);
      } catch (const train::ReportedByAnotherRank&) {
        EXPECT_NE(communicator->rank(), 0);  // rank 0 reports shared failures
      }
    });
    const train::Checkpoint last =
        *train::CheckpointFolder(base_ / name / "checkpoints", 1).newest();
    std::vector<std::byte> bytes;
    for (const auto& [key, values] : last.arrays)
      bytes.insert(bytes.end(), values.begin(), values.end());
    return bytes;
  }

  const OptionTable table_;
  fs::path base_;
};

// The mean of the training showers is stored with the weights, identical on all ranks, and symmetric under reflection.
TEST_F(Gan3dRanks, KnowTheMeanShower) {
  const Options chosen = options({});
  comm::ThreadWorld world(2);
  torch::Tensor means[2];
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    const auto task = make_task(chosen);
    task->prepare(*communicator);
    means[transport.rank()] = task->model().named_buffers()["generator.mean_shower"];
  });
  const torch::Tensor mean = means[0];
  EXPECT_TRUE(torch::equal(mean, means[1]));
  EXPECT_NEAR(mean.sum().item<double>(), 1, 0.2);
  for (const torch::Tensor& other : {mean.flip(0), mean.flip(1), mean.transpose(0, 1)})
    EXPECT_TRUE(torch::allclose(mean, other, 1e-4, 1e-9));
  EXPECT_GT(mean.select(2, 8).sum().item<double>(), 5 * mean.select(2, 0).sum().item<double>());
}

// Step 2 is within an epoch.
TEST_F(Gan3dRanks, ResumedIsBitForBitTheSame) {
  const Options chosen = options({{"steps", "3"}, {"checkpoint_steps", "2"}});
  const auto whole = train_on(2, "run", chosen);
  const auto losses = runs::read_metrics(base_ / "run").at("loss_generator");
  EXPECT_TRUE(fs::exists(base_ / "run/plots/longitudinal.svg"));
  ASSERT_TRUE(fs::remove(base_ / "run/checkpoints/step-000000000003.ckpt"));
  ASSERT_TRUE(fs::exists(base_ / "run/checkpoints/step-000000000002.ckpt"));
  EXPECT_EQ(whole, train_on(2, "run", chosen, true));
  EXPECT_EQ(losses.size(), 3u);
  EXPECT_EQ(losses, runs::read_metrics(base_ / "run").at("loss_generator"));
}

TEST_F(Gan3dRanks, OnlySynchronousWithoutLag) {
  EXPECT_THROW(train_on(1, "lag", options({{"lag", "1"}})), ConfigError);
  EXPECT_THROW(train_on(2, "local", options({{"strategy", "local_sgd"}})), ConfigError);
}

}  // namespace
}  // namespace tutti::models::gan3d
