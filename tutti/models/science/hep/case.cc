#include "tutti/models/science/hep/case.h"

namespace tutti::models::hep {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "hep",
      "finds decays of supersymmetric particles in pictures of collisions",
      {{"image", kInt, "64", "pixels along a side of the picture", "", 8, 4096},
       {"filters", kInt, "128", "of each convolution", "", 1, 4096},
       {"dropout", kFloat, "0.2", "share of activations that are dropped", "", 0, 0.95},
       {"train_events", kInt, "40000", "events to make for training", "", 10, 1e9},
       {"test_events", kInt, "60000", "events to make for the physics result", "", 10, 1e9},
       {"val_events", kInt, "6000", "events to make to choose the best weights by; 0: none", "", 0,
        1e9}},
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
