// Training steps of a network with and without large model support: the worker of `tutti lms` and `tutti bench lms`.
//   lms_step trace FILE NETWORK          writes the trace of one step, recorded without a limit
//   lms_step run BUDGET STEPS NETWORK    one JSON line; budget 0: without large model support
// Operators run in tiles if the options of a case include lms_tiling.
// NETWORK is `case NAME [option=value ...]`, or `script FILE.pt DIMENSION ...` with the shape of the input. The input
// is random. The loss of a script is the mean square of its output.
#include <fmt/format.h>
#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tutti/command.h"
#include "tutti/core/bytes.h"
#include "tutti/core/clock.h"
#include "tutti/core/crc32c.h"
#include "tutti/core/error.h"
#include "tutti/lms/hooks/guard.h"
#include "tutti/lms/trace.h"
#include "tutti/models/cases.h"
#include "tutti/models/script/network.h"
#include "tutti/models/tasks.h"
#include "tutti/os/output_file.h"
#include "tutti/train/process_setup.h"
#include "tutti/train/run/config.h"

namespace tutti::app {
namespace {

using Arguments = std::span<char* const>;

constexpr double kLearningRate = 1e-4, kMomentum = 0.9;
constexpr int kRecordedSteps = 3;  // the first one allocates gradients and momentum
constexpr std::int64_t kUnlimited = std::int64_t{1} << 40;

// A network with a fixed random batch.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual torch::nn::Module& model() = 0;
  virtual torch::Tensor loss(std::uint64_t step) = 0;
};

class CaseWorkload final : public Workload {
 public:
  explicit CaseWorkload(Arguments arguments)
      : info_(models::find_case(arguments.empty() ? "" : arguments[0])), table_(info_.table()) {
    train::Settings settings;
    for (const char* setting : arguments.subspan(1))
      settings.push_back(split_setting("--option", setting));
    options_.emplace(train::resolve(info_, table_, settings));
    task_ = models::make_task(info_.name, *options_);
    task_->model().train();
    batch_ = task_->random_batch(options_->integer("batch"));
  }
  torch::nn::Module& model() override { return task_->model(); }
  torch::Tensor loss(std::uint64_t step) override {
    return train::precise_loss(*task_, *options_, 0, batch_, step);
  }

 private:
  const train::CaseInfo& info_;
  const OptionTable table_;
  std::optional<Options> options_;
  std::unique_ptr<train::Task> task_;
  train::Batch batch_;
};

class ScriptWorkload final : public Workload {
 public:
  explicit ScriptWorkload(Arguments arguments) : network_(arguments.empty() ? "" : arguments[0]) {
    std::vector<std::int64_t> shape;
    for (const char* dimension : arguments.subspan(1)) shape.push_back(std::atoll(dimension));
    network_.train(true);
    input_ = torch::rand(shape);
  }
  torch::nn::Module& model() override { return network_; }
  torch::Tensor loss(std::uint64_t) override { return network_.forward(input_).square().mean(); }

 private:
  models::script::ScriptNetwork network_;
  torch::Tensor input_;
};

std::unique_ptr<Workload> make_workload(Arguments arguments) {
  const std::string kind = arguments.empty() ? "" : arguments[0];
  torch::manual_seed(1);
  if (kind == "case") return std::make_unique<CaseWorkload>(arguments.subspan(1));
  if (kind == "script") return std::make_unique<ScriptWorkload>(arguments.subspan(1));
  throw ConfigError("DDL-1-03",
                    fmt::format("Unknown kind of network '{}'. Valid: case, script.", kind));
}

class Trainer {
 public:
  explicit Trainer(Workload& workload)
      : workload_(workload),
        optimizer_(workload.model().parameters(),
                   torch::optim::SGDOptions(kLearningRate).momentum(kMomentum)) {}

  double step() {
    optimizer_.zero_grad();
    const torch::Tensor loss = workload_.loss(step_++);
    loss.backward();
    optimizer_.step();
    return loss.item<double>();
  }

  // Checksum of all gradients.
  std::uint32_t digest() {
    std::uint32_t sum = 0;
    for (const torch::Tensor& parameter : workload_.model().parameters()) {
      if (!parameter.grad().defined()) continue;
      const torch::Tensor gradient = parameter.grad().contiguous();
      sum = crc32c(gradient.data_ptr(), gradient.nbytes(), sum);
    }
    return sum;
  }

 private:
  Workload& workload_;
  torch::optim::SGD optimizer_;
  std::uint64_t step_ = 0;
};

int write_trace(const std::string& file, Arguments network) {
  lms::GuardOptions options;
  options.budget = kUnlimited;
  options.plans = false;
  options.minimum_bytes = 1;  // the same blocks at every size of the input
  const lms::Guard guard(options);
  const auto workload = make_workload(network);
  Trainer trainer(*workload);
  // A recorded step ends with the first operator after the next backward pass.
  for (int step = 0; step <= kRecordedSteps; ++step) trainer.step();
  os::write_whole(file, lms::to_json(guard.trace()));
  return 0;
}

// The value of the option lms_tiling.
std::int64_t tile_bytes_of(Arguments network) {
  constexpr std::string_view kOption = "lms_tiling=";
  for (const std::string_view argument : network)
    if (argument.starts_with(kOption))
      return lms::tile_bytes_of(std::string(argument.substr(kOption.size())));
  return 0;
}

int run_steps(std::int64_t budget, int steps, Arguments network) {
  std::optional<lms::Guard> guard;
  if (budget > 0) {
    lms::GuardOptions options;
    options.budget = budget;
    options.tile_bytes = tile_bytes_of(network);
    guard.emplace(options);
  }
  const auto workload = make_workload(network);
  Trainer trainer(*workload);
  std::vector<double> seconds, losses;
  lms::SessionStatistics before;
  for (int step = 0; step < steps; ++step) {
    if (guard && step == steps - 1) before = guard->statistics();
    const Stopwatch watch;
    losses.push_back(trainer.step());
    seconds.push_back(watch.seconds());
  }
  nlohmann::ordered_json line = {{"seconds", seconds}, {"losses", losses}};
  if (guard) {  // moved and waited in the last step
    const lms::SessionStatistics after = guard->statistics();
    line["budget"] = after.budget;
    line["peak"] = after.pager.peak_resident;
    line["written"] = after.pager.bytes_written - before.pager.bytes_written;
    line["read"] = after.pager.bytes_read - before.pager.bytes_read;
    line["waited"] = after.pager.write_wait + after.pager.read_wait - before.pager.write_wait -
                     before.pager.read_wait;
    line["unplanned_reads"] = after.pager.unplanned_reads - before.pager.unplanned_reads;
    line["evictions"] = after.pager.evictions - before.pager.evictions;
    line["faults"] = after.pager.faults - before.pager.faults;
    line["planned_steps"] = after.planned_steps;
    line["all_read"] = after.pager.bytes_read;  // of all steps
    line["all_faults"] = after.pager.faults;
  }
  line["gradients"] = trainer.digest();
  fmt::print("{}\n", line.dump());
  return 0;
}

int run_worker(int argc, char** argv) {
  const Arguments arguments(argv, static_cast<std::size_t>(argc));
  const std::string command = argc > 1 ? argv[1] : "";
  if (const char* threads = std::getenv("OMP_NUM_THREADS"); threads != nullptr) {
    train::prepare_process(std::atoi(threads));
  }
  if (command == "trace" && argc > 3) return write_trace(argv[2], arguments.subspan(3));
  if (command == "run" && argc > 4) {
    return run_steps(parse_bytes(argv[2]), std::atoi(argv[3]), arguments.subspan(4));
  }
  throw ConfigError("DDL-1-03",
                    "Usage: lms_step trace FILE NETWORK, or lms_step run BUDGET STEPS NETWORK.");
}

}  // namespace
}  // namespace tutti::app

int main(int argc, char** argv) {
  return tutti::app::run_program([&] { return tutti::app::run_worker(argc, argv); });
}
