#include "tutti/models/vision/resnet/case.h"

namespace tutti::models::resnet {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "resnet",
      "image classification; the usual scaling benchmark",
      {{"depth", kInt, "20", "Layers: 18, 34, 50, 101, 152; for small images 20, 32, 44, 56, 110.",
        "", 8, 2000},
       {"image", kInt, "32", "Side of the image in pixels.", "", 8, 1024},
       {"classes", kInt, "10", "Number of classes; the generator has up to 10.", "", 2, 100000},
       train::choice(
           "stem", "auto",
           "First layer of depths 18 to 152; large: 7x7 and pooling; small: 3x3; auto: by `image`.",
           {"auto", "small", "large"}),
       {"augment", kBool, "1", "Augment training images with shifts and horizontal flips.", ""},
       {"train_images", kInt, "8000", "Images to generate for training.", "", 10, 1e9},
       {"test_images", kInt, "2000", "Images to generate for the test set.", "", 10, 1e9},
       {"val_images", kInt, "1000",
        "Images to generate for the validation set; 0: no validation set.", "", 0, 1e9}},
      // Few filters: bf16 would be slower, except in `paper`.
      {{"", train::settings("optimizer=sgd learning_rate=0.1 nesterov=1 weight_decay=0.0005 "
                            "schedule=cosine warmup=0.05 precision=f32 batch=64 epochs=4")},
       {"tiny",
        train::settings("depth=8 image=16 train_images=400 test_images=200 val_images=200 batch=20 "
                        "epochs=2")},
       {"paper",
        train::settings("depth=50 image=224 train_images=100000 test_images=5000 val_images=5000 "
                        "batch=32 epochs=90 nesterov=0 precision=auto learning_rate=0.0125 "
                        "lr_scaling=linear weight_decay=0.0001 schedule=step warmup=0.056")}}};
  return info;
}

}  // namespace tutti::models::resnet
