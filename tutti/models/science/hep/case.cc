#include "tutti/models/science/hep/case.h"

namespace tutti::models::hep {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "hep",
      "classification of detector images: decays of supersymmetric particles",
      {{"image", kInt, "64", "Side of the image in pixels.", "", 8, 4096},
       {"filters", kInt, "128", "Filters of each convolution.", "", 1, 4096},
       {"dropout", kFloat, "0.2", "Dropout rate.", "", 0, 0.95},
       {"train_events", kInt, "40000", "Events to generate for training.", "", 10, 1e9},
       {"test_events", kInt, "60000", "Events to generate for the test set.", "", 10, 1e9},
       {"val_events", kInt, "6000",
        "Events to generate for the validation set; 0: no validation set.", "", 0, 1e9}},
      {{"",
        train::settings("optimizer=adam learning_rate=0.001 schedule=cosine warmup=0.05 batch=64 "
                        "epochs=2 evaluate_every=2")},
       {"tiny", train::settings(
                    "image=32 filters=8 dropout=0 train_events=300 test_events=300 val_events=300 "
                    "batch=16 epochs=2")},
       {"paper", train::settings(
                     "image=224 dropout=0.5 batch=8 epochs=4 evaluate_every=1 train_events=200000 "
                     "test_events=200000 val_events=50000")}}};
  return info;
}

}  // namespace tutti::models::hep
