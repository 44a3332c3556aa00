// The command `tutti bench tree`: training and prediction of trees, compared with scikit-learn and XGBoost.
#pragma once

namespace tutti::bench {

int run_tree(int argc, char** argv);

}  // namespace tutti::bench
