// `tutti bench`: one row per benchmark.
#include "apps/tutti/command.h"
#include "bench/allreduce/allreduce.h"
#include "bench/ddp/ddp.h"
#include "bench/harness/interrupt.h"
#include "bench/hybrid/hybrid.h"
#include "bench/lms/lms.h"
#include "bench/summary/summary.h"
#include "bench/train/train.h"
#include "bench/tune/tune.h"
#include "tutti/os/environment.h"

namespace tutti::app {

int run_bench(int argc, char** argv) {
  static constexpr Command kBenchmarks[] = {
      {"allreduce", "all-reduce compared with Open MPI, MPICH and Gloo", bench::run_allreduce},
      {"ddp", "training steps of PyTorch with the backends ddl and gloo", bench::run_ddp},
      {"glm", "linear models compared with scikit-learn's solvers", run_in_learn_program},
      {"hybrid", "training strategies with equal ranks and with a slow one", bench::run_hybrid},
      {"lms", "training steps within a memory budget", bench::run_lms_bench},
      {"shapes", "all estimators on data of many shapes, compared with other libraries",
       run_in_learn_program},
      {"summary", "speed-ups from the rows of benchmarks, as table and plot", bench::run_summary},
      {"tree", "trees, forests and boosting compared with scikit-learn and XGBoost",
       run_in_learn_program},
      {"train", "training steps of a case compared with DistributedDataParallel",
       bench::run_train_bench},
      {"tune", "hyper-parameter search compared with Optuna", bench::run_tune_bench},
  };
  os::set_openblas_kernels();  // baselines run at their best settings
  try {
    return dispatch("tutti bench", kBenchmarks, argc, argv);
  } catch (const bench::Interrupted& interrupted) {
    return 128 + interrupted.signal;
  }
}

}  // namespace tutti::app
