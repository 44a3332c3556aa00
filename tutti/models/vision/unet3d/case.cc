#include "tutti/models/vision/unet3d/case.h"

namespace tutti::models::unet3d {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "unet3d",
      "marks the parts of a brain tumour in every voxel of a head",
      {{"volume", kInt, "32", "voxels along a side of a scan", "", 4, 4096},
       {"filters", kInt, "8", "of the first convolution; others have multiples", "", 1, 1024},
       {"depth", kInt, "3", "levels; the volume is halved between them", "", 2, 10},
       train::choice(
           "doubling", "upsample",
           "how the way up doubles the volume: values repeated, or a transposed convolution",
           {"upsample", "deconvolution"}),
       train::choice("norm", "instance",
                     "of what each convolution gives; the published network has none",
                     {"none", "instance"}),
       {"entropy_weight", kFloat, "1",
        "of the cross-entropy of rare labels besides the Dice coefficient; 0: as published", "", 0,
        1e6},
       {"augment", kBool, "1", "turn and mirror the heads, by all symmetries of a cube", ""},
       {"train_scans", kInt, "200", "heads to make for training", "", 2, 1e8},
       {"test_scans", kInt, "40", "heads to make for the result", "", 2, 1e8},
       {"val_scans", kInt, "20", "heads to make to choose the best weights by; 0: none", "", 0,
        1e8}},
      {{"",
        train::settings("optimizer=adam learning_rate=0.002 schedule=cosine warmup=0.05 batch=2 "
                        "epochs=10")},
       {"tiny", train::settings("volume=16 train_scans=24 test_scans=8 val_scans=8 epochs=4")},
       {"paper",
        train::settings("volume=128 filters=32 depth=4 norm=none entropy_weight=0 "
                        "learning_rate=0.0005 schedule=constant warmup=0 batch=1 train_scans=285 "
                        "test_scans=66 val_scans=66 epochs=100")}}};
  return info;
}

}  // namespace tutti::models::unet3d
