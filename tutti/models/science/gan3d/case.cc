#include "tutti/models/science/gan3d/case.h"

namespace tutti::models::gan3d {

const train::CaseInfo& case_info() {
  using enum OptionType;
  static const train::CaseInfo info = {
      "gan3d",
      "makes showers of electrons in a calorimeter",
      {{"latent", kInt, "200", "random numbers from which a shower is made", "", 1, 65536},
       {"generator_filters", kInt, "8", "of the first convolution of the generator", "", 1, 4096},
       {"filters", kInt, "8", "of the first convolution of the discriminator", "", 1, 4096},
       {"kernel", kInt, "3", "side of the kernels of the discriminator, odd", "", 3, 9},
       {"dropout", kFloat, "0.2", "share of the discriminator's activations that are dropped", "",
        0, 0.95},
       {"norm_momentum", kFloat, "0.05", "share of a batch in the running means of the norms", "",
        0, 1},
       {"flip", kFloat, "0.05", "share of labels that the discriminator is told wrong", "", 0, 0.5},
       {"judged_weight", kFloat, "6", "of the loss of telling true showers from made ones", "", 0,
        1e6},
       {"energy_weight", kFloat, "0.2", "of the relative error, in %, of the electron's energy", "",
        0, 1e6},
       {"sum_weight", kFloat, "0.1", "of the relative error, in %, of the sum of all cells", "", 0,
        1e6},
       {"train_showers", kInt, "2000", "showers to make for training", "", 2, 1e9},
       {"test_showers", kInt, "500", "showers to make for the result", "", 2, 1e9}},
      {{"",
        {{"optimizer", "rmsprop"},
         {"learning_rate", "0.001"},
         {"beta2", "0.9"},
         {"epsilon", "1e-07"},
         {"sync_batch_norm", "1"},
         {"batch", "16"},
         {"epochs", "4"}}},
       {"tiny",
        {{"generator_filters", "4"},
         {"filters", "4"},
         {"batch", "8"},
         {"train_showers", "128"},
         {"test_showers", "64"},
         {"epochs", "1"}}},
       {"paper",
        {{"generator_filters", "64"},
         {"filters", "32"},
         {"kernel", "5"},
         {"norm_momentum", "0.01"},
         {"batch", "128"},
         {"train_showers", "180000"},
         {"test_showers", "20000"},
         {"rate_scaling", "linear"},
         {"warmup", "0.1"},
         {"epochs", "30"}}}}};
  return info;
}

}  // namespace tutti::models::gan3d
