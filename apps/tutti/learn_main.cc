// tutti-learn: the program of `tutti learn` and of the benchmarks `glm`, `shapes` and `tree`. Started by tutti
// (learn_program.cc).
#include "apps/tutti/command.h"
#include "apps/tutti/learn.h"
#include "bench/glm/glm.h"
#include "bench/harness/interrupt.h"
#include "bench/shapes/shapes.h"
#include "bench/tree/tree_bench.h"

namespace {

constexpr tutti::app::Command kCommands[] = {
    {"learn", "train linear models and trees on data files", tutti::app::run_learn},
    {"glm", "linear models, compared with the solvers of scikit-learn", tutti::bench::run_glm},
    {"shapes", "all estimators on data of many shapes, compared with other libraries",
     tutti::bench::run_shapes},
    {"tree", "trees, forests and boosting, compared with scikit-learn and XGBoost",
     tutti::bench::run_tree},
};

}  // namespace

int main(int argc, char** argv) {
  return tutti::app::run_program([&] {
    try {
      return tutti::app::dispatch("tutti-learn", kCommands, argc, argv);
    } catch (const tutti::bench::Interrupted& interrupted) {
      return 128 + interrupted.signal;
    }
  });
}
