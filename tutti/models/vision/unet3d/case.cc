#include "tutti/models/vision/unet3d/case.h"

namespace tutti::models::unet3d {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "unet3d",
      "3-D segmentation of brain tumours in MRI scans",
      {{"volume", kInt, "32", "Side of a scan in voxels.", "", 4, 4096},
       {"filters", kInt, "8", "Filters of the first convolution; the others have multiples of it.",
        "", 1, 1024},
       {"depth", kInt, "3", "Levels; each halves the volume.", "", 2, 10},
       train::formerly(
           "doubling",
           train::formerly_choice(
               "upsample", "nearest",
               train::choice(
                   "upsampling", "nearest",
                   "Upsampling in the decoder: repeated values, or a transposed convolution.",
                   {"nearest", "deconvolution"}))),
       train::choice("norm", "instance",
                     "Normalisation after each convolution; the published network has none.",
                     {"none", "instance"}),
       {"entropy_weight", kFloat, "1",
        "Weight of the class-weighted cross-entropy added to the Dice loss; 0: as published.", "",
        0, 1e6},
       {"augment", kBool, "1", "Augment the scans with the 48 symmetries of a cube.", ""},
       {"train_scans", kInt, "200", "Scans to generate for training.", "", 2, 1e8},
       {"test_scans", kInt, "40", "Scans to generate for the test set.", "", 2, 1e8},
       {"val_scans", kInt, "20", "Scans to generate for the validation set; 0: no validation set.",
        "", 0, 1e8}},
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
