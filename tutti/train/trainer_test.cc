// The loop and its strategies on a problem of a few numbers; ranks are threads.
#include "tutti/train/trainer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/torch.h>

#include <fstream>
#include <mutex>
#include <set>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/train/run/checkpoint_file.h"
#include "tutti/train/run/options.h"
#include "tutti/train/together.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

// Finds a plane through points that lie on one.
class ToyTask : public Task {
 public:
  explicit ToyTask(std::int64_t bad_step = -1, std::vector<Update> updates = {{"loss", ""}})
      : updates_(std::move(updates)), bad_step_(bad_step) {
    const torch::NoGradGuard no_gradients;
    model_->register_parameter("matrix", torch::full({2, 2}, 0.3));
    model_->register_parameter("weight", torch::linspace(0.1, 0.4, 4));
    model_->register_parameter("unused", torch::zeros({3}));
    model_->register_buffer("seen", torch::zeros({1}));
  }
  torch::nn::Module& model() override { return *model_; }
  void prepare(comm::Communicator&) override {}
  std::int64_t train_samples() const override { return 96; }
  Batch load(std::span<const std::int64_t> indices) override {
    torch::Tensor input = torch::empty({static_cast<std::int64_t>(indices.size()), 4});
    for (std::size_t i = 0; i < indices.size(); ++i)
      for (int k = 0; k < 4; ++k)
        input[static_cast<std::int64_t>(i)][k] = std::sin(double(indices[i] + 1) * (k + 1.3));
    const torch::Tensor numbers =
        torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()));
    return {input, input.matmul(torch::tensor({1.f, -2.f, 0.5f, 3.f})), {numbers}};
  }
  Batch random_batch(std::int64_t count) override {
    return {torch::randn({count, 4}), torch::randn({count}), {}};
  }
  torch::Tensor loss(const Batch& batch, std::uint64_t) override {
    model_->named_buffers()["seen"] += 1;
    if (on_samples && model_->is_training()) on_samples(batch.more.at(0));
    torch::Tensor loss = layers_loss(weighted(mixed(batch.input)), batch);
    if (calls_++ == bad_step_) loss = loss * std::numeric_limits<float>::quiet_NaN();
    return loss;
  }
  std::vector<Update> updates() const override { return updates_; }
  torch::Tensor update_loss(std::size_t update, const Batch& batch, std::uint64_t seed) override {
    return loss(batch, seed) * (1 + 0.5 * double(update));
  }
  Metrics evaluate(comm::Communicator&, const fs::path&) override {
    std::vector<std::int64_t> all(32);
    std::iota(all.begin(), all.end(), 0);
    return {{"score", -loss(load(all), 0).item<double>()}};
  }
  std::vector<Layer> layers() override {
    return {{2, 1, 0, [this](const torch::Tensor& x, std::uint64_t) { return mixed(x); }},
            {1, 2, 0, [this](const torch::Tensor& x, std::uint64_t) { return weighted(x); }}};
  }
  torch::Tensor layers_loss(const torch::Tensor& output, const Batch& batch) override {
    return (output - batch.target).square().mean();
  }
  std::vector<std::string> prediction_names() const override { return {}; }
  std::vector<std::vector<float>> predict(const fs::path&) override { return {}; }
  void export_script(const fs::path&) override {}
  double flops_per_sample() const override { return 30; }
  std::string verdict(const Metrics&) const override { return ""; }
  bool casts_itself() const override { return true; }
  std::function<void(const torch::Tensor& indices)> on_samples;  // of each batch trained on

 private:
  torch::Tensor mixed(const torch::Tensor& x) {
    const torch::Tensor matrix = model_->named_parameters()["matrix"];
    return torch::cat({x.narrow(1, 0, 2).matmul(matrix), x.narrow(1, 2, 2)}, 1);
  }
  torch::Tensor weighted(const torch::Tensor& x) {
    return x.matmul(model_->named_parameters()["weight"]);
  }

  std::shared_ptr<torch::nn::Module> model_ = std::make_shared<torch::nn::Module>("toy");
  std::vector<Update> updates_;
  std::int64_t bad_step_, calls_ = 0;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    std::string form = fs::temp_directory_path() / "trainer-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~TrainerTest() override { fs::remove_all(base_); }

  using Settings = std::vector<std::pair<std::string, std::string>>;
  struct Result {
    double score = 0;
    std::vector<float> weights;
  };

  // Trains on threads and returns what rank 0 found, with the weights of the last checkpoint.
  Result run(int ranks, const std::string& name, const Settings& settings, bool resumes = false,
             std::int64_t bad_step = -1) {
    Options options(train_options());
    for (const auto& [key, value] : Settings{{"batch", "8"},
                                             {"learning_rate", "0.05"},
                                             {"optimizer", "sgd"},
                                             {"checkpoint_seconds", "0"},
                                             {"precision", "f32"}})
      options.set(key, value);
    for (const auto& [key, value] : settings) options.set(key, value);
    fs::create_directories(base_ / name);
    const TrainJob job{"toy", options, base_ / name, resumes};
    Result result;
    comm::ThreadWorld world(ranks);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      ToyTask task(transport.rank() == ranks - 1 ? bad_step : -1, updates_);
      task.on_samples = [&](const torch::Tensor& indices) {
        const std::lock_guard lock(mutex_);
        const auto* first = indices.data_ptr<std::int64_t>();
        samples_.insert(samples_.end(), first, first + indices.numel());
      };
      try {
        const TrainOutcome outcome = train(task, *communicator, job);
        if (communicator->rank() == 0) result.score = outcome.metrics.at(0).second;
      } catch (const AlreadyTold&) {
        EXPECT_NE(communicator->rank(), 0);  // it tells what fails on all
      }
    });
    const Checkpoint checkpoint = *CheckpointFolder(base_ / name / "checkpoints", 1).newest();
    result.weights.resize(checkpoint.arrays.at("weights").size() / sizeof(float));
    checkpoint.get("weights", std::as_writable_bytes(std::span(result.weights)));
    return result;
  }
  fs::path base_;
  std::vector<Update> updates_ = {{"loss", ""}};
  std::mutex mutex_;
  std::vector<std::int64_t> samples_;  // that were trained on
};

TEST_F(TrainerTest, RanksTogetherDoWhatOneWouldDo) {
  const Result one = run(1, "one", {{"steps", "12"}, {"batch", "24"}});
  const Result three = run(3, "three", {{"steps", "12"}, {"bucket_bytes", "1024"}});
  const Result accumulated = run(1, "accumulated", {{"steps", "12"}, {"accumulate", "3"}});
  ASSERT_EQ(one.weights.size(), 11u);
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    EXPECT_NEAR(one.weights[i], three.weights[i], 1e-5);
    EXPECT_NEAR(one.weights[i], accumulated.weights[i], 1e-5);
  }
  EXPECT_EQ(one.weights[10], 0);  // had no part in the loss
}

TEST_F(TrainerTest, StagesDoWhatOneRankWouldDo) {
  const Settings common = {{"steps", "12"}, {"optimizer", "adam"}, {"average_decay", "0.5"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result one = run(1, "one", with({{"batch", "24"}}));
  const Result two =
      run(2, "two", with({{"batch", "24"}, {"stages", "2"}, {"micro_batches", "5"}}));
  const Result six = run(6, "six", with({{"stages", "2"}, {"micro_batches", "2"}}));
  ASSERT_EQ(one.weights.size(), 11u);
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    EXPECT_NEAR(one.weights[i], two.weights[i], 1e-4) << i;
    EXPECT_NEAR(one.weights[i], six.weights[i], 1e-4) << i;
  }
  EXPECT_NEAR(one.score, six.score, 1e-3);
}

TEST_F(TrainerTest, StagesGoOnWhereTheyStopped) {
  const Settings common = {{"stages", "2"}, {"optimizer", "adam"}, {"micro_batches", "2"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result whole = run(2, "whole", with({{"steps", "20"}}));
  run(2, "parts", with({{"steps", "20"}, {"checkpoint_steps", "7"}, {"keep_checkpoints", "9"}}));
  for (const auto& file : fs::directory_iterator(base_ / "parts/checkpoints"))
    if (file.path().filename() > "step-000000000007.ckpt") fs::remove(file);
  EXPECT_EQ(whole.weights, run(2, "parts", with({{"steps", "20"}}), true).weights);
}

TEST_F(TrainerTest, SlicesDoWhatAllWouldDo) {
  const Settings common = {{"steps", "12"}, {"optimizer", "adam"}, {"clip_norm", "1"}};
  auto with = [&](const char* update, Settings more = {}) {
    more.emplace_back("update", update);
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result all = run(3, "all", with("all"));
  const Result slices = run(3, "slices", with("slice", {{"bucket_bytes", "1024"}}));
  const Settings two_stages = {{"steps", "12"}, {"stages", "2"}, {"micro_batches", "2"}};
  auto staged = [&](const char* update) {
    Settings settings = two_stages;
    settings.emplace_back("update", update);
    return run(4, std::string("stages-") + update, settings);
  };
  const Result stages = staged("slice"), whole_stages = staged("all");
  ASSERT_EQ(slices.weights.size(), 11u);
  for (std::size_t i = 0; i < all.weights.size(); ++i) {
    EXPECT_NEAR(all.weights[i], slices.weights[i], 1e-5) << i;
    EXPECT_NEAR(whole_stages.weights[i], stages.weights[i], 1e-5) << i;
  }
  EXPECT_THROW(run(2, "late", with("slice", {{"lag", "1"}})), ConfigError);
  EXPECT_THROW(run(2, "norms", {{"update", "slice"}, {"optimizer", "lamb"}}), ConfigError);
}

TEST_F(TrainerTest, TooManyStages) {
  EXPECT_THROW(run(3, "odd", {{"stages", "2"}}), ConfigError);
  EXPECT_THROW(run(3, "long", {{"stages", "3"}}), ConfigError);
  EXPECT_THROW(run(3, "servers", {{"stages", "2"}, {"strategy", "async"}}), ConfigError);
}

// Three updates a step, two of them of the same parameters, each from weights that the one before
// has changed: the same by any number of ranks.
TEST_F(TrainerTest, UpdatesOfAStepTakeTurns) {
  updates_ = {{"first", "matrix"}, {"second", "weight"}, {"third", "weight"}};
  const Settings settings = {{"steps", "5"}, {"optimizer", "adam"}, {"clip_norm", "0.7"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), settings.begin(), settings.end());
    return more;
  };
  const Result one = run(1, "one", with({{"batch", "24"}}));
  const Result three = run(3, "three", with({}));
  const Result accumulated = run(1, "accumulated", with({{"accumulate", "3"}}));
  ASSERT_EQ(one.weights.size(), 11u);
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    EXPECT_NEAR(one.weights[i], three.weights[i], 1e-5);
    EXPECT_NEAR(one.weights[i], accumulated.weights[i], 1e-5);
  }
  const auto columns = read_metrics(base_ / "one");
  EXPECT_EQ(columns.at("first").size(), 5u);
  EXPECT_LT(columns.at("second")[0] / 1.5, columns.at("first")[0]);  // all of the same batch
  EXPECT_LT(columns.at("third")[0] / 2, columns.at("second")[0] / 1.5);
  const double mean =
      (columns.at("first")[0] + columns.at("second")[0] + columns.at("third")[0]) / 3;
  EXPECT_NEAR(columns.at("loss")[0], mean, 1e-4 * mean);
}

TEST_F(TrainerTest, ParametersOfOtherUpdatesStandStill) {
  updates_ = {{"first", "weight"}, {"second", "weight"}};
  const Result result = run(2, "still", {{"steps", "9"}, {"optimizer", "adam"}});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result.weights[i], 0.3f);  // `matrix`
  for (std::size_t i = 4; i < 8; ++i)
    EXPECT_GT(std::abs(result.weights[i] - 0.1f * float(i - 3)), 0.01);
}

TEST_F(TrainerTest, UpdatesThatTakeTurnsGoOnWhereTheyStopped) {
  updates_ = {{"first", "matrix"}, {"second", "weight"}, {"third", "weight"}};
  const Settings settings = {{"steps", "10"}, {"optimizer", "adam"}, {"checkpoint_steps", "5"}};
  const Result whole = run(2, "whole", settings);
  run(2, "parts", settings);
  fs::remove(base_ / "parts/checkpoints/step-000000000010.ckpt");
  EXPECT_EQ(whole.weights, run(2, "parts", settings, true).weights);
}

TEST_F(TrainerTest, SeveralUpdatesNeedSync) {
  updates_ = {{"first", "matrix"}, {"second", "weight"}};
  EXPECT_THROW(run(2, "lag", {{"lag", "1"}}), ConfigError);
  EXPECT_THROW(run(2, "local", {{"strategy", "local_sgd"}}), ConfigError);
  EXPECT_THROW(run(3, "servers", {{"strategy", "async"}}), ConfigError);
}

TEST_F(TrainerTest, EveryStrategyLearns) {
  const double start = run(1, "start", {{"steps", "1"}, {"learning_rate", "0"}}).score;
  auto learns = [&](int ranks, Settings settings) {
    settings.insert(settings.end(), {{"steps", "150"}, {"momentum", "0.5"}});
    std::string name;
    for (const auto& [key, value] : settings) name += key + value;
    EXPECT_GT(run(ranks, name, settings).score, 0.05 * start)
        << name;  // scores are negative losses
  };
  learns(2, {{"lag", "1"}});
  learns(3, {{"strategy", "local_sgd"}, {"local_steps", "4"}});
  learns(3, {{"strategy", "async"}});
  learns(5, {{"strategy", "hybrid"}, {"groups", "2"}, {"servers", "1"}});
  learns(4, {{"strategy", "hybrid"}, {"groups", "1"}, {"servers", "2"}});
  learns(2, {{"optimizer", "adam"}, {"clip_norm", "1"}, {"average_decay", "0.9"}});
}

class ResumedTest : public TrainerTest, public testing::WithParamInterface<const char*> {};

TEST_P(ResumedTest, IsBitForBitTheSame) {
  const Settings common = {{"optimizer", "adam"},
                           {"average_decay", "0.5"},
                           {"schedule", "cosine"},
                           {"update", GetParam() == std::string("slice") ? "slice" : "all"},
                           {"lag", GetParam() == std::string("late") ? "1" : "0"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const Result whole = run(2, "whole", with({{"steps", "20"}}));
  // As if it had been killed: the checkpoint of step 12 is the last that is left.
  run(2, "parts", with({{"steps", "20"}, {"checkpoint_steps", "4"}, {"keep_checkpoints", "9"}}));
  for (const char* late :
       {"step-000000000016.ckpt", "step-000000000018.ckpt", "step-000000000020.ckpt"})
    fs::remove(base_ / "parts/checkpoints" / late);
  const Result parts = run(2, "parts", with({{"steps", "20"}}), true);
  EXPECT_EQ(whole.weights, parts.weights);
  const auto columns = read_metrics(base_ / "parts");
  ASSERT_EQ(columns.at("step").size(), 20u);
  EXPECT_EQ(columns.at("loss"), read_metrics(base_ / "whole").at("loss"));
}

INSTANTIATE_TEST_SUITE_P(Updates, ResumedTest, testing::Values("all", "slice", "late"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// Four of six steps of two ranks, then others take the rest of the epoch, at the same place of the
// schedule.
TEST_F(TrainerTest, AnotherNumberOfRanksGoesOnAtTheSameSample) {
  const Settings common = {{"schedule", "cosine"}, {"learning_rate", "0.03"}};
  auto with = [&](Settings more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const double third = 0.03 * (1 + std::cos(std::acos(-1.0) / 3)) / 2;
  for (const int ranks : {1, 2, 3, 4}) {
    const std::string name = std::to_string(ranks);
    samples_.clear();
    run(2, name, with({{"steps", "4"}}));
    ASSERT_EQ(samples_.size(), 64u);
    run(ranks, name, with({{"epochs", "2"}}), true);
    const std::int64_t rest = 32 / (8 * ranks), epoch = 96 / (8 * ranks);
    const auto columns = read_metrics(base_ / name);
    ASSERT_EQ(columns.at("step").size(), std::size_t(4 + rest + epoch)) << ranks;
    const double rounding = 32 % (8 * ranks) == 0 ? 1e-7 : 0.2 * third;  // to whole steps
    EXPECT_NEAR(columns.at("learning_rate").at(4), third, rounding) << ranks;
    EXPECT_DOUBLE_EQ(columns.at("epoch").back(), 2);
    const auto end = samples_.begin() + 64 + rest * 8 * ranks;
    EXPECT_EQ(std::set<std::int64_t>(samples_.begin(), end).size(),
              std::size_t(end - samples_.begin()));
    EXPECT_EQ(std::set<std::int64_t>(end, samples_.end()).size(), 96u);
    const Checkpoint last = *CheckpointFolder(base_ / name / "checkpoints", 1).newest();
    EXPECT_EQ(last.texts.at("epoch"), "2");
    EXPECT_EQ(last.texts.at("epoch_samples"), "0");
    EXPECT_EQ(last.texts.at("samples"), std::to_string(64 + (rest + epoch) * 8 * ranks));
  }
}

// They have only their step, which the same number of ranks can go on from.
TEST_F(TrainerTest, CheckpointsOfVersionOneAreRead) {
  const Result whole = run(2, "whole", {{"steps", "10"}});
  run(2, "old", {{"steps", "4"}});
  const fs::path file = base_ / "old/checkpoints/step-000000000004.ckpt";
  Checkpoint old = read_checkpoint(file);
  for (const char* name : {"samples", "epoch", "epoch_samples"}) old.texts.erase(name);
  old.texts["version"] = "1";
  write_checkpoint(file, old);
  EXPECT_EQ(whole.weights, run(2, "old", {{"steps", "10"}}, true).weights);
  const auto texts = CheckpointFolder(base_ / "old/checkpoints", 1).newest()->texts;
  EXPECT_EQ(texts.at("samples"), "160");
  EXPECT_EQ(texts.at("epoch"), "1");
}

TEST_F(TrainerTest, OneBadStepIsSkippedByAll) {
  const Result result = run(3, "bad", {{"steps", "40"}}, false, 5);
  for (float weight : result.weights) EXPECT_TRUE(std::isfinite(weight));
  std::ifstream events(base_ / "bad/events-rank2.jsonl");
  const std::string text((std::istreambuf_iterator<char>(events)), {});
  EXPECT_NE(text.find("not_finite"), std::string::npos);
}

TEST_F(TrainerTest, BadStepsInARowEndTheRun) {
  try {
    run(2, "hopeless", {{"steps", "40"}, {"learning_rate", "900"}, {"momentum", "0.99"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "DDL-9-60") << error.what();
  }
}

// Else resuming would only lead into the same end.
TEST_F(TrainerTest, WeightsThatAreNotFiniteAreNotKept) {
  EXPECT_THROW(run(2, "hopeless",
                   {{"steps", "200"},
                    {"learning_rate", "900"},
                    {"momentum", "0.99"},
                    {"checkpoint_steps", "1"}}),
               Error);
  const Checkpoint newest = *CheckpointFolder(base_ / "hopeless/checkpoints", 1).newest();
  std::vector<float> weights(newest.arrays.at("weights").size() / sizeof(float));
  newest.get("weights", std::as_writable_bytes(std::span(weights)));
  for (const float weight : weights) EXPECT_TRUE(std::isfinite(weight));
}

TEST_F(TrainerTest, SpeedOfRanksTogetherAloneAndApart) {
  Options options(train_options());
  options.set("batch", "4");
  comm::ThreadWorld world(2);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    ToyTask task;
    const SpeedReport report = measure_speed(task, *communicator, options, 5);
    EXPECT_EQ(report.step_seconds.size(), 5u);
    EXPECT_EQ(report.alone_seconds.size(), 5u);
    EXPECT_EQ(report.apart_seconds.size(), 10u);
    for (const auto& seconds : {report.step_seconds, report.alone_seconds, report.apart_seconds})
      EXPECT_GT(*std::min_element(seconds.begin(), seconds.end()), 0);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(report.slowest_seconds.at(i),
                std::max(report.apart_seconds[i], report.apart_seconds[5 + i]));
  });
}

TEST_F(TrainerTest, TooFewRanksForServers) {
  EXPECT_THROW(run(2, "few", {{"strategy", "hybrid"}, {"groups", "2"}, {"servers", "1"}}),
               ConfigError);
}

}  // namespace
}  // namespace tutti::train
