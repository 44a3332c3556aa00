// `tutti bench tree`: fitting and asking trees, beside scikit-learn and XGBoost.
#pragma once

namespace tutti::bench {

int run_tree(int argc, char** argv);

}  // namespace tutti::bench
