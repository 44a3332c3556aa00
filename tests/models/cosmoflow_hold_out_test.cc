// The cosmoflow workload with universes held out for hyperparameter selection.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/models/nets/task_parts.h"
#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/models/science/cosmoflow/metric.h"
#include "tutti/models/science/cosmoflow/volumes.h"
#include "tutti/train/task.h"

namespace tutti::models::cosmoflow {
namespace {

namespace fs = std::filesystem;

// Mean error of the constant-mean baseline for the targets from `first` on: identifies the evaluated samples.
double mark(VolumeFiles& files, std::int64_t first) {
  std::vector<Prediction> predictions;
  for (std::int64_t i = first; i < files.size(); ++i)
    predictions.push_back({files.truth(i), files.truth(i)});
  return scores(parameters(Variant::kPaper), predictions)[0].mean_error;
}

TEST(CosmoflowHoldOut, EvaluatesUniversesThatAreNotTrainedOn) {
  std::string form = fs::temp_directory_path() / "cosmoflow-XXXXXX";
  const fs::path base = mkdtemp(form.data());
  setenv("XDG_CACHE_HOME", base.c_str(), 1);
  const OptionTable table = case_info().table();
  for (const char* share : {"0", "0.4"}) {
    const Options options = train::resolve(case_info(), table,
                                           {{"size", "tiny"},
                                            {"volume", "16"},
                                            {"cuts", "2"},
                                            {"train_universes", "5"},
                                            {"test_universes", "3"},
                                            {"hold_out", share}});
    comm::ThreadWorld world(2);
    world.run([&](comm::Transport& transport) {
      at::set_num_threads(1);
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      const auto task = make_task(options);
      task->prepare(*communicator);
      const bool is_held = share != std::string("0");
      EXPECT_EQ(task->train_samples(), is_held ? 24 : 40);  // 8 samples per universe
      task->model().eval();
      const torch::NoGradGuard no_gradients;
      const double evaluated = value_of(task->evaluate(*communicator, {}), "omega_m_mean_error");
      VolumeFiles files(base / "tutti/cosmoflow-paper-32-2-32-256-5-3", is_held ? "train" : "test",
                        Variant::kPaper, 16, 1);
      EXPECT_NEAR(evaluated, mark(files, is_held ? 24 : 0), 1e-12);
    });
  }
  fs::remove_all(base);
}

}  // namespace
}  // namespace tutti::models::cosmoflow
