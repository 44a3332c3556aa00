#include "tutti/models/science/climate_segment/case.h"

namespace tutti::models::climate_segment {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "climate-segment",
      "segmentation of tropical cyclones and atmospheric rivers in climate data",
      {train::choice("network", "tiramisu", "Network architecture.", {"tiramisu", "deeplab"}),
       {"rows", kInt, "96",
        "Rows of a frame (latitude); a frame has 1.5 times as many columns (longitude).", "", 16,
        4096},
       {"width", kFloat, "0.5",
        "Filters as a fraction of the published number; oneDNN is slow with fewer.", "", 0.01, 4},
       {"dropout", kFloat, "0", "Dropout rate: tiramisu.", "", 0, 0.95},
       train::choice("weighting", "inverse_sqrt",
                     "Weighting of the loss by the frequency of the class of a pixel.",
                     {"none", "inverse_sqrt", "inverse"}),
       {"train_frames", kInt, "400", "Frames to generate for training.", "", 2, 1e9},
       {"test_frames", kInt, "80", "Frames to generate for the test set.", "", 2, 1e9},
       {"val_frames", kInt, "40",
        "Frames to generate for the validation set; 0: no validation set.", "", 0, 1e9}},
      {{"", train::settings(
                "optimizer=larc learning_rate=0.002 schedule=cosine warmup=0.1 lag=1 batch=2 "
                "epochs=6")},
       {"tiny",
        train::settings("rows=32 train_frames=16 test_frames=8 val_frames=8 batch=2 epochs=2")},
       {"paper", train::settings(
                     "rows=768 width=1 dropout=0.2 learning_rate=0.0001 schedule=constant "
                     "weight_decay=0.0001 train_frames=4000 test_frames=400 val_frames=400 batch=1 "
                     "epochs=60")}}};
  return info;
}

}  // namespace tutti::models::climate_segment
