#include "tutti/tune/run/options.h"

#include "tutti/tune/search/algorithms.h"

namespace tutti::tune {
namespace {

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  return names;
}

}  // namespace

const OptionTable& tune_options() {
  static const OptionTable table = {
      {"trials", OptionType::kInt, "50", "Number of trials; 0: no limit.", "", 0, 1e9},
      {"parallel", OptionType::kInt, "1", "Trials that run at once.", "", 1, 4096},
      {.name = "algorithm",
       .type = OptionType::kChoice,
       .default_value = "auto",
       .help = "Search algorithm. auto: chosen by the number of trials, the parameters and the "
               "objectives.",
       .environment = "",
       .choices = algorithm_names()},
      {.name = "pruner",
       .type = OptionType::kChoice,
       .default_value = "none",
       .help = "Rule that stops bad trials early, by the values that they report for each step.",
       .environment = "",
       .choices = {"none", "median", "asha", "hyperband"}},
      {"seed", OptionType::kInt, "0", "Seed of the search.", "", 0, 1e15},
      {"metric", OptionType::kText, "",
       "Metric to optimise; several, separated by commas, give a Pareto front. Empty: the first "
       "metric of a case.",
       ""},
      {"direction", OptionType::kText, "",
       "minimize or maximize, one per metric. Empty: maximize the first metric of a case, minimize "
       "any other metric.",
       ""},
      {"timeout", OptionType::kFloat, "0", "Time for the whole search, in seconds; 0: no limit.",
       "", 0, 1e9},
      {"trial_timeout", OptionType::kFloat, "0", "Time for one trial, in seconds; 0: no limit.", "",
       0, 1e9},
      {"retries", OptionType::kInt, "1", "Times that a failed trial is started again.", "", 0,
       1000},
      {"cores", OptionType::kInt, "0",
       "Cores to which a trial on this host is pinned; 0: its share of the available cores.", "", 0,
       4096},
      {.name = "executor",
       .type = OptionType::kChoice,
       .default_value = "local",
       .help = "Where trials run. local: on this host; slurm: each as one Slurm job (srun); "
               "ddlrun: each as ranks on "
               "hosts.",
       .environment = "",
       .choices = {"local", "slurm", "ddlrun"}},
      {"executor_options", OptionType::kText, "",
       "Further arguments of srun or ddlrun, such as '--partition=gpu --time=60' or '-H "
       "host1,host2'.",
       ""},
  };
  return table;
}

}  // namespace tutti::tune
