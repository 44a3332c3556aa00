#include "tutti/models/science/climate_detect/case.h"

namespace tutti::models::climate_detect {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "climate-detect",
      "object detection of four kinds of storms with few labels (semi-supervised)",
      {{"rows", kInt, "96", "Rows of a frame (latitude).", "", 16, 4096},
       {"columns", kInt, "144", "Columns of a frame (longitude).", "", 16, 4096},
       {"halvings", kInt, "2", "Convolutions of stride 2 before that of the bottleneck.", "", 1, 5},
       {"width", kFloat, "0.25", "Filters as a fraction of the published number.", "", 0.01, 4},
       {"labelled", kFloat, "0.1", "Fraction of the training frames with labels.", "", 0, 1},
       {"reconstruction", kFloat, "10",
        "Weight of the reconstruction loss; 0: train on labelled frames only.", "", 0, 1e6},
       {"confidence", kFloat, "0.8", "Minimum confidence of predicted boxes.", "", 0, 1},
       {"train_frames", kInt, "800", "Frames to generate for training.", "", 2, 1e9},
       {"test_frames", kInt, "160", "Frames to generate for the test set.", "", 2, 1e9},
       {"val_frames", kInt, "80",
        "Frames to generate for the validation set; 0: no validation set.", "", 0, 1e9}},
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
