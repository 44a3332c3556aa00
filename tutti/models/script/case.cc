#include "tutti/models/script/case.h"

#include "tutti/models/script/targets.h"

namespace tutti::models::script {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "script",
      "a network of your own: a TorchScript file and HDF5 files",
      {{"model", kText, "", "TorchScript file of the network, as torch.jit.script(...).save writes",
        ""},
       train::choice("loss", "cross_entropy", "what is made small",
                     {kLossNames.begin(), kLossNames.end()}),
       {"input", kText, "data", "data set of the files that goes into the network", ""},
       {"target", kText, "label", "data set that should come out", ""},
       {"flops", kFloat, "0", "of training on one sample, for the progress line; 0: not known", "",
        0, 1e18}},
      {{"", train::settings("learning_rate=0.001 epochs=4")}}};
  return info;
}

}  // namespace tutti::models::script
