#include "tutti/models/science/cosmoflow/case.h"

namespace tutti::models::cosmoflow {
namespace {

// The MLPerf HPC reference: 0.001 for 64 volumes, scaled linearly; warm-up of 4 epochs of 128, a quarter of the rate
// from epoch 32, an eighth from epoch 64.
train::Settings mlperf_recipe() {
  return train::settings(
      "optimizer=sgd momentum=0.9 learning_rate=0.001 base_batch=64 "
      "lr_scaling=linear batch=4 epochs=128 warmup=0.03125 schedule=step "
      "lr_milestones=0.25,0.5 lr_gamma=0.25,0.5 dropout=0.5 augment=0");
}

OptionTable network_rows() {
  using enum OptionType;
  return {train::choice("variant", "paper", "Network and universes of the paper or of MLPerf HPC.",
                        {"paper", "mlperf"}),
          {"volume", kInt, "64", "Side of a sample in voxels.", "", 16, 1024},
          {"filters", kInt, "8",
           "Filters of the first convolution; the others have multiples of it.", "", 8, 1024},
          {"dropout", kFloat, "0", "Dropout rate of the dense layers.", "", 0, 0.95},
          {"augment", kBool, "1", "Augment the volumes with the 48 symmetries of a cube.", ""},
          train::choice("input", "contrast",
                        "Input as a function of the relative density x: x, x - 1, or log(1 + x).",
                        {"density", "contrast", "log"}),
          {"batch_norm", kBool, "1",
           "Batch normalisation of the input of the dense layers; the final network of the paper "
           "has none.",
           ""},
          train::choice("readout", "means",
                        "Input of the dense layers: spatial means of all convolutions, or the "
                        "output of the last convolution.",
                        {"means", "last"}),
          {"hold_out", kFloat, "0",
           "Fraction of the training universes that is held out and evaluated instead of the test "
           "universes, to tune options.",
           "", 0, 0.9}};
}

// Options of the generated universes.
OptionTable universe_rows() {
  using enum OptionType;
  return {
      {"cuts", kInt, "1", "Samples along a side of a universe.", "", 1, 64},
      {"particles", kInt, "1", "Particles per voxel along a side.", "", 1, 8},
      {"voxel", kFloat, "4", "Side of a voxel in Mpc/h.", "", 0.01, 1000},
      {"train_universes", kInt, "1024", "Universes to generate for training.", "", 2, 1e8},
      {"test_universes", kInt, "256", "Universes to generate for the test set.", "", 2, 1e8},
      {"val_universes", kInt, "128",
       "Universes to generate for the validation set; 0: no validation set.", "", 0, 1e8},
  };
}

std::map<std::string, train::Settings> defaults() {
  return {
      {"",
       train::settings("optimizer=adam learning_rate=0.0003 schedule=cosine warmup=0.05 batch=8 "
                       "epochs=10")},
      {"tiny",
       train::settings("volume=32 voxel=8 train_universes=256 test_universes=64 val_universes=64 "
                       "epochs=20")},
      {"paper",
       train::settings("volume=128 filters=16 dropout=0.5 input=density batch_norm=0 readout=last "
                       "cuts=2 particles=2 voxel=2 train_universes=12432 test_universes=50 "
                       "val_universes=150 optimizer=larc_scale learning_rate=0.002 "
                       "schedule=polynomial final_lr_ratio=0.1 batch=1 epochs=100")}};
}

}  // namespace

const train::CaseInfo& case_info() {
  static const train::CaseInfo info = [] {
    OptionTable rows = network_rows();
    const OptionTable more = universe_rows();
    rows.insert(rows.end(), more.begin(), more.end());
    return train::CaseInfo{"cosmoflow",
                           "regression of cosmological parameters from the distribution of matter",
                           rows,
                           defaults(),
                           {{"variant", "mlperf", "", train::settings("input=log")},
                            {"variant", "mlperf", "paper", mlperf_recipe()}}};
  }();
  return info;
}

const std::vector<Parameter>& parameters(Variant variant) {
  static const std::vector<Parameter> paper = {{"omega_m", 0.25, 0.35, 0.3, 0.02853},
                                               {"sigma_8", 0.78, 0.95, 0.8628, 0.04887},
                                               {"n_s", 0.9, 1.0, 0.95, 0.028}};
  static const std::vector<Parameter> mlperf = [] {
    std::vector<Parameter> all;
    for (const auto& [name, centre] :
         {std::pair("omega_m", 0.3), {"sigma_8", 0.8}, {"n_s", 0.96}, {"h", 0.7}})
      all.push_back({name, 0.9 * centre, 1.1 * centre, centre, 0.1 * centre});
    return all;
  }();
  return variant == Variant::kMlperf ? mlperf : paper;
}

Cosmology cosmology_of(Variant variant, const std::vector<double>& values) {
  Cosmology cosmology;
  cosmology.omega_m = values[0];
  cosmology.sigma_8 = values[1];
  cosmology.n_s = values[2];
  cosmology.h = variant == Variant::kMlperf ? values[3] : 0.703;
  return cosmology;
}

}  // namespace tutti::models::cosmoflow
