#include "tutti/models/script/case.h"

#include "tutti/models/script/targets.h"

namespace tutti::models::script {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "script",
      "custom model: a TorchScript file and HDF5 files",
      {{"model", kText, "",
        "TorchScript file of the model, as written by torch.jit.script(...).save.", ""},
       train::choice("loss", "cross_entropy", "Loss function.",
                     {kLossNames.begin(), kLossNames.end()}),
       {"input", kText, "data", "Name of the HDF5 data set with the inputs.", ""},
       {"target", kText, "label", "Name of the HDF5 data set with the targets.", ""},
       {"flops", kFloat, "0",
        "Operations per sample for forward and backward, for the progress line; 0: unknown.", "", 0,
        1e18}},
      {{"", train::settings("learning_rate=0.001 epochs=4")}}};
  return info;
}

}  // namespace tutti::models::script
