#include "tutti/train/run/options.h"

#include <utility>

#include "tutti/train/optim/optimizer.h"

namespace tutti::train {
namespace {

using enum OptionType;

OptionSpec formerly_choice(std::string old_choice, std::string current, OptionSpec spec) {
  spec.choice_aliases.emplace_back(std::move(old_choice), std::move(current));
  return spec;
}

OptionTable work_rows() {
  return {
      choice("size", "small", "how large model and data are", {"tiny", "small", "paper"}),
      {"seed", kInt, "1", "of the weights, the shuffling and the dropout", "", 0, 1e9},
      {"epochs", kFloat, "1", "times that the training data is seen", "", 0, 1e6},
      {"steps", kInt, "0", "updates to make; 0: as many as `epochs` needs", "", 0, 1e12},
      {"batch", kInt, "32", "samples per rank and step", "", 1, 1e6},
      {"accumulate", kInt, "1", "batches whose gradients are summed before an update", "", 1, 1e5},
      {"data", kText, "", "folder of the data; empty: made by the generator of the case",
       "TUTTI_DATA"},
      formerly(
          "stage",
          {"staging_dir", kText, "",
           "folder on the local disk to which the files of `data` are copied first, each read once",
           "TUTTI_STAGING_DIR"},
          "TUTTI_STAGE"),
      formerly("keep_bytes", {"cache_bytes", kBytes, "0",
                              "memory of a rank for samples it has read, so that they are not read "
                              "again; 0: its share of "
                              "a quarter of what is free",
                              "", 0, 1e15}),
      {"check_memory", kBool, "1", "end at once when training would take more memory than is free",
       ""},
      {"validation_samples", kInt, "0",
       "samples looked at after each epoch, to choose the best weights by; 0: all", "", 0, 1e9},
      {"evaluate_every", kInt, "1", "epochs between evaluations; the last is always evaluated", "",
       1, 1e6},
      choice("precision", "auto", "auto: bf16 where the processor has it, with f32 weights",
             {"auto", "f32", "bf16"}),
      {"channels_last", kBool, "1", "keep the channels of a pixel together in memory", ""},
      {"threads", kInt, "0", "of each rank; 0: its share of the processors", "", 0, 4096},
  };
}

OptionTable update_rows() {
  return {
      choice("optimizer", "adam", "rule of the update",
             {kOptimizerNames.begin(), kOptimizerNames.end()}),
      {"learning_rate", kFloat, "0.001", "highest rate of the schedule, for one rank", "", 0, 1e3},
      {"momentum", kFloat, "0.9", "also beta1 of adam and lamb", "", 0, 0.99999},
      {"nesterov", kBool, "0", "look ahead with the momentum of sgd", ""},
      {"beta2", kFloat, "0.999", "memory of the squares: adam, lamb, rmsprop", "", 0, 0.999999},
      {"epsilon", kFloat, "1e-08", "added to the root of the squares", "", 0, 1},
      formerly("trust", {"trust_coefficient", kFloat, "0.002", "eta of lars and larc", "", 0, 10}),
      {"weight_decay", kFloat, "0", "pull of weights to zero; not on biases and norms", "", 0, 10},
      {"clip_norm", kFloat, "0", "largest norm of the gradient; 0: any", "", 0, 1e12},
      formerly("average_decay",
               {"ema_decay", kFloat, "0", "running mean of the weights, used to evaluate; 0: none",
                "", 0, 0.999999}),
      choice("schedule", "constant", "of the learning rate after the warm-up",
             {"constant", "polynomial", "cosine", "step"}),
      {"warmup", kFloat, "0", "share of all steps in which the rate rises", "", 0, 1},
      formerly("final_rate", {"final_lr_ratio", kFloat, "0",
                              "share of the rate at the end: polynomial, cosine", "", 0, 1}),
      {"power", kFloat, "1", "of the polynomial", "", 0, 10},
      formerly("step_at", {"lr_milestones", kText, "0.33,0.67,0.89",
                           "shares of all steps where the rate falls", ""}),
      formerly("step_factor", {"lr_gamma", kText, "0.1",
                               "by which it falls: one number for all, or one for each", ""}),
      formerly("rate_scaling",
               choice("lr_scaling", "none", "of the rate with the samples of a step",
                      {"none", "linear", "sqrt"})),
      formerly("rate_batch",
               {"base_batch", kInt, "0",
                "lr_scaling: samples of a step that `learning_rate` is for; 0: those of one rank",
                "", 0, 1e9}),
  };
}

OptionTable team_rows() {
  return {
      choice("strategy", "sync", "how ranks work together",
             {"sync", "async", "hybrid", "local_sgd"}),
      {"stages", kInt, "1",
       "ranks in a row that share the layers of one network; data parallel between the rows", "", 1,
       4096},
      {"micro_batches", kInt, "4", "parts of a batch that follow each other through the stages", "",
       1, 4096},
      {"lag", kInt, "0", "sync: updates use the gradient of this many steps before", "", 0, 1},
      formerly_choice(
          "slice", "sharded",
          choice(
              "update", "all",
              "sync: every rank updates all weights, or each its slice and gives it to the others",
              {"all", "sharded"})),
      {"groups", kInt, "2", "hybrid: synchronous groups", "", 1, 4096},
      {"servers", kInt, "1", "async, hybrid: ranks that keep the weights; layers are dealt to them",
       "", 1, 4096},
      {"local_steps", kInt, "8", "local_sgd: steps between two averages", "", 1, 1e6},
      {"bucket_bytes", kBytes, "1MiB", "of gradients that are reduced together", "", 1024, 4e9},
      {"sync_batch_norm", kBool, "0",
       "batch norm over the samples of all ranks of a step, not of one rank", ""},
      {"checkpoint_seconds", kFloat, "60", "time between checkpoints; 0: at the end of epochs only",
       "", 0, 1e9},
      {"checkpoint_steps", kInt, "0", "steps between checkpoints; 0: by time", "", 0, 1e12},
      {"keep_checkpoints", kInt, "2", "how many stay, besides the best", "", 1, 1000},
      formerly(
          "bad_steps",
          {"max_nonfinite_steps", kInt, "3",
           "steps in a row without a finite loss and gradient before training stops", "", 1, 1000}),
      {"runs", kText, "runs", "folder in which the folder of a run is made", "TUTTI_RUNS"},
  };
}

}  // namespace

OptionSpec choice(std::string name, std::string default_value, std::string help,
                  std::vector<std::string> choices) {
  return {std::move(name),   kChoice, std::move(default_value), std::move(help), "", 0, 0,
          std::move(choices)};
}

OptionSpec formerly(std::string old_name, OptionSpec spec, std::string old_environment) {
  spec.aliases.push_back(std::move(old_name));
  if (!old_environment.empty()) spec.environment_aliases.push_back(std::move(old_environment));
  return spec;
}

const OptionTable& train_options() {
  static const OptionTable table = [] {
    OptionTable all = work_rows();
    for (const OptionTable& rows : {update_rows(), team_rows()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return table;
}

}  // namespace tutti::train
