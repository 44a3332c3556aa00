#include "tutti/models/science/climate_detect/case.h"

namespace tutti::models::climate_detect {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "climate-detect",
      "draws boxes round four kinds of storms, few of which are labelled",
      {{"rows", kInt, "96", "of latitude", "", 16, 4096},
       {"columns", kInt, "144", "of longitude", "", 16, 4096},
       {"halvings", kInt, "2", "convolutions of stride 2 before the code, which has one more", "",
        1, 5},
       {"width", kFloat, "0.25", "filters, as a share of the published ones", "", 0.01, 4},
       {"labelled", kFloat, "0.1", "share of the training frames whose boxes are shown", "", 0, 1},
       {"reconstruction", kFloat, "10",
        "weight of the loss that makes the network draw its input again; 0: labelled frames only",
        "", 0, 1e6},
       {"confidence", kFloat, "0.8", "least confidence of a box that is drawn or predicted", "", 0,
        1},
       {"train_frames", kInt, "800", "moments to make for training", "", 2, 1e9},
       {"test_frames", kInt, "160", "moments to make for the result", "", 2, 1e9},
       {"val_frames", kInt, "80", "moments to make to choose the best weights by; 0: none", "", 0,
        1e9}},
      {{"",
        train::settings("optimizer=adam learning_rate=0.001 weight_decay=0.0005 schedule=cosine "
                        "warmup=0.05 precision=f32 batch=8 epochs=8")},
       {"tiny", train::settings(
                    "rows=32 columns=48 width=0.125 labelled=0.5 train_frames=24 test_frames=12 "
                    "val_frames=12 batch=4 epochs=2")},
       {"paper", train::settings(
                     "rows=768 columns=768 halvings=5 width=1 learning_rate=0.0001 "
                     "schedule=constant warmup=0 precision=auto train_frames=4000 test_frames=400 "
                     "val_frames=400 epochs=30")}}};
  return info;
}

}  // namespace tutti::models::climate_detect
