#include "tutti/models/science/gan3d/case.h"

namespace tutti::models::gan3d {
namespace {

using enum OptionType;

OptionTable network_rows() {
  return {
      {"latent", kInt, "16", "Size of the latent vector.", "", 1, 65536},
      {"generator_filters", kInt, "8", "Filters of the first convolution of the generator.", "", 1,
       4096},
      {"filters", kInt, "8", "Filters of the first convolution of the discriminator.", "", 1, 4096},
      {"kernel", kInt, "3", "Kernel size of the discriminator; odd.", "", 3, 9},
      {"stride", kInt, "2", "Stride of the first convolution of the discriminator.", "", 1, 4},
      train::choice(
          "conditioning", "relative",
          "Conditioning of the generator; published: input noise times energy, output in GeV; "
          "relative: input noise and energy, output in multiples of the mean shower.",
          {"published", "relative"}),
      {"cell_unit", kFloat, "0.01",
       "Unit of the cells in GeV; the input of the discriminator is (cell / cell_unit)^cell_power.",
       "", 1e-6, 1e6},
      {"cell_power", kFloat, "0.5", "Exponent of the cells; see `cell_unit`.", "", 0.1, 2},
  };
}

OptionTable training_rows() {
  return {
      {"dropout", kFloat, "0.2", "Dropout rate of the discriminator.", "", 0, 0.95},
      {"norm_momentum", kFloat, "0.05",
       "Momentum of the running statistics of batch normalisation.", "", 0, 1},
      train::formerly(
          "flip",
          {"label_flip", kFloat, "0.05",
           "Fraction of labels that are flipped for the discriminator (label noise).", "", 0, 0.5}),
      train::formerly("judged_weight",
                      {"adversarial_weight", kFloat, "1",
                       "Weight of the adversarial loss (real or generated).", "", 0, 1e6}),
      {"energy_weight", kFloat, "0.2",
       "Weight of the relative error of the electron's energy, in percent.", "", 0, 1e6},
      {"sum_weight", kFloat, "0",
       "Weight of the relative error of the sum of all cells, in percent.", "", 0, 1e6},
      {"profile_weight", kFloat, "100",
       "Weight of the energy distance between the profiles of generated and real showers.", "", 0,
       1e6},
      {"response_weight", kFloat, "20",
       "Weight of the energy distance between the responses of generated and real showers.", "", 0,
       1e6},
      {"generator_updates", kInt, "1",
       "Updates of the generator per step, after the two of the discriminator.", "", 1, 16},
      {"train_showers", kInt, "2000", "Showers to simulate for training.", "", 2, 1e9},
      {"test_showers", kInt, "500", "Showers to simulate for the test set.", "", 2, 1e9},
      {"val_showers", kInt, "500",
       "Showers to simulate for the validation set; 0: no validation set.", "", 0, 1e9},
  };
}

// Below `paper`, the hyperparameters are Tutti's: the published ones need tens of thousands of steps.
std::map<std::string, train::Settings> defaults() {
  return {{"", train::settings(
                   "optimizer=adam learning_rate=0.002 momentum=0.5 beta2=0.9 epsilon=1e-07 "
                   "schedule=cosine final_lr_ratio=0.02 sync_batch_norm=1 batch=16 epochs=20")},
          {"tiny", train::settings(
                       "generator_filters=4 filters=4 batch=8 train_showers=128 test_showers=64 "
                       "val_showers=64 epochs=1")},
          {"paper",
           train::settings("latent=200 generator_filters=64 filters=32 kernel=5 stride=1 "
                           "conditioning=published cell_unit=1 cell_power=1 adversarial_weight=6 "
                           "sum_weight=0.1 profile_weight=0 response_weight=0 generator_updates=2 "
                           "norm_momentum=0.01 optimizer=rmsprop momentum=0.9 learning_rate=0.001 "
                           "schedule=constant batch=128 train_showers=180000 test_showers=20000 "
                           "val_showers=5000 lr_scaling=linear warmup=0.1 epochs=30")}};
}

}  // namespace

const train::CaseInfo& case_info() {
  static const train::CaseInfo info = [] {
    OptionTable rows = network_rows();
    const OptionTable more = training_rows();
    rows.insert(rows.end(), more.begin(), more.end());
    return train::CaseInfo{"gan3d", "3D GAN that generates electron showers in a calorimeter", rows,
                           defaults()};
  }();
  return info;
}

}  // namespace tutti::models::gan3d
