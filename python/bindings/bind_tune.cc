// tutti._tune: Python bindings of hyper-parameter search, used by the package tutti.tune.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "tutti/core/error.h"
#include "tutti/tune/importance/ped_anova.h"
#include "tutti/tune/prune/pruner.h"
#include "tutti/tune/search/algorithms.h"
#include "tutti/tune/search/cma_es.h"
#include "tutti/tune/search/gp.h"
#include "tutti/tune/search/nsga2.h"
#include "tutti/tune/search/tpe.h"
#include "tutti/tune/store/optuna_file.h"
#include "tutti/tune/store/study.h"

namespace py = pybind11;

namespace tutti::tune {
namespace {

using WithoutGil = py::call_guard<py::gil_scoped_release>;
using NamedDistribution = std::pair<std::string, Distribution>;

void raise_in_python(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const ConfigError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const IoError& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  }
}

Space space_of(const std::vector<NamedDistribution>& parameters) {
  Space space;
  for (const auto& [name, distribution] : parameters) space.push_back({name, distribution});
  return space;
}

std::vector<NamedDistribution> parameters_of(const Space& space) {
  std::vector<NamedDistribution> parameters;
  for (const Parameter& one : space) parameters.emplace_back(one.name, one.distribution);
  return parameters;
}

std::vector<Direction> directions_of(const std::vector<bool>& is_maximized) {
  std::vector<Direction> directions;
  for (const bool is_maximum : is_maximized)
    directions.push_back(is_maximum ? Direction::kMaximize : Direction::kMinimize);
  return directions;
}

std::vector<bool> is_maximized(const std::vector<Direction>& directions) {
  std::vector<bool> maximized;
  for (const Direction direction : directions)
    maximized.push_back(direction == Direction::kMaximize);
  return maximized;
}

void check_number(Study& study, std::int64_t number) {
  const std::size_t trials = study.size();
  if (number < 0 || number >= static_cast<std::int64_t>(trials)) {
    throw py::index_error("trial " + std::to_string(number) + " does not exist; the study has " +
                          std::to_string(trials) + " trials");
  }
}

std::shared_ptr<Study> make_study(const std::vector<bool>& maximized,
                                  std::shared_ptr<Sampler> sampler, std::shared_ptr<Pruner> pruner,
                                  const std::shared_ptr<StudyFile>& file, const std::string& name) {
  std::optional<StoredStudy> stored;
  if (file) stored = StoredStudy{file, file->find(name)};
  return std::make_shared<Study>(directions_of(maximized), std::move(sampler), std::move(pruner),
                                 stored);
}

// (values, notes) of the parameters, and stores the notes with the trial.
std::vector<double> draw_together(Study& study, Sampler& sampler, std::int64_t number,
                                  const std::vector<NamedDistribution>& parameters) {
  check_number(study, number);
  const Space space = space_of(parameters);
  const Suggestion suggestion = study.inspect(
      [&](const History& history) { return sampler.suggest(history, space, number); });
  for (const auto& [key, json] : suggestion.notes) study.set_attribute(number, true, key, json);
  return suggestion.values;
}

double draw_alone(Study& study, Sampler& sampler, std::int64_t number, const std::string& name,
                  const Distribution& distribution) {
  check_number(study, number);
  return study.inspect([&](const History& history) {
    return sampler.suggest_alone(history, {name, distribution}, number);
  });
}

std::vector<NamedDistribution> joint_space(Study& study, Sampler& sampler) {
  return study.inspect(
      [&](const History& history) { return parameters_of(sampler.joint_space(history)); });
}

bool is_pruned_by(Study& study, const Pruner& pruner, std::int64_t number) {
  check_number(study, number);
  return study.inspect(
      [&](const History& history) { return pruner.should_prune(history, history.trial(number)); });
}

// [(name, importance)], largest first. `losses` by number of the trial; empty: those of the first objective.
std::vector<std::pair<std::string, double>> importances(Study& study,
                                                        const std::vector<std::string>& parameters,
                                                        const std::vector<double>& losses,
                                                        double best_fraction, bool is_normalised) {
  const std::vector<Importance> found = study.inspect([&](const History& history) {
    if (!losses.empty() && losses.size() != history.trials().size()) {
      throw py::value_error("trials were added meanwhile");
    }
    return parameter_importances(history, {0, best_fraction, parameters, losses, is_normalised});
  });
  std::vector<std::pair<std::string, double>> result;
  for (const Importance& one : found) result.emplace_back(one.name, one.value);
  return result;
}

std::optional<std::int64_t> best_number(Study& study) {
  return study.inspect([](const History& history) {
    const Trial* best = history.best();
    return best ? std::optional(best->number) : std::nullopt;
  });
}

std::vector<int> states(Study& study, std::int64_t first) {
  return study.inspect([&](const History& history) {
    std::vector<int> states;
    for (auto i = static_cast<std::size_t>(first); i < history.trials().size(); ++i)
      states.push_back(static_cast<int>(history.trials()[i].state));
    return states;
  });
}

void bind_values(py::module_& module) {
  py::class_<Distribution>(module, "Distribution")
      .def_static("real",
                  [](double low, double high, bool is_log, double step) {
                    return checked("", Distribution::real(low, high, is_log, step));
                  })
      .def_static("integer",
                  [](double low, double high, bool is_log, double step) {
                    return checked("", Distribution::integer(low, high, is_log, step));
                  })
      .def_static("categorical",
                  [](std::vector<std::string> choices) {
                    return checked("", Distribution::categorical(std::move(choices)));
                  })
      .def_static("from_json", &distribution_from_json)
      .def("json", [](const Distribution& self) { return to_json(self); })
      // (kind, low, high, is_log, step, choices), where kind is 0 float, 1 integer, 2 categorical
      .def("parts", [](const Distribution& self) {
        return py::make_tuple(static_cast<int>(self.kind), self.low, self.high, self.is_log,
                              self.step, py::tuple(py::cast(self.choices)));
      });
  // Attributes of a finished or running trial; `parameters` as (name, distribution, value).
  py::class_<Trial>(module, "Trial")
      .def(py::init<>())
      .def_readonly("number", &Trial::number)
      .def_property(
          "state", [](const Trial& self) { return static_cast<int>(self.state); },
          [](Trial& self, int state) { self.state = static_cast<TrialState>(state); })
      .def_readwrite("values", &Trial::values)
      .def_readwrite("constraints", &Trial::constraints)
      .def_readwrite("user_attributes", &Trial::user_attributes)
      .def_readwrite("system_attributes", &Trial::system_attributes)
      .def_readwrite("started", &Trial::started)
      .def_readwrite("ended", &Trial::ended)
      .def_property(
          "reports",
          [](const Trial& self) {
            std::vector<std::pair<std::int64_t, double>> reports;
            for (const Report& report : self.reports)
              reports.emplace_back(report.step, report.value);
            return reports;
          },
          [](Trial& self, const std::vector<std::pair<std::int64_t, double>>& reports) {
            self.reports.clear();
            for (const auto& [step, value] : reports) self.reports.push_back({step, value});
          })
      .def_property(
          "parameters",
          [](const Trial& self) {
            std::vector<std::tuple<std::string, Distribution, double>> parameters;
            for (const TrialParameter& one : self.parameters)
              parameters.emplace_back(one.name, *one.distribution, one.value);
            return parameters;
          },
          [](Trial& self,
             const std::vector<std::tuple<std::string, Distribution, double>>& parameters) {
            self.parameters.clear();
            for (const auto& [name, distribution, value] : parameters)
              self.parameters.push_back(
                  {name, std::make_shared<const Distribution>(distribution), value});
          });
}

void bind_samplers(py::module_& module) {
  py::class_<Sampler, std::shared_ptr<Sampler>>(module, "Sampler").def("reason", &Sampler::reason);
  const auto shared = [](std::unique_ptr<Sampler> sampler) {
    return std::shared_ptr<Sampler>(std::move(sampler));
  };
  module.def("random_sampler",
             [=](std::uint64_t seed) { return shared(make_random_sampler(seed)); });
  module.def("sobol_sampler", [=](std::uint64_t seed) { return shared(make_sobol_sampler(seed)); });
  module.def("auto_sampler", [=](std::int64_t trials, int parallel, std::uint64_t seed) {
    return shared(make_sampler("auto", {trials, parallel, seed, {}}));
  });
  module.def("tpe_sampler", [=](int startup_trials, int candidates, bool is_multivariate,
                                bool is_grouped, bool counts_running, std::uint64_t seed) {
    return shared(make_tpe_sampler(
        {startup_trials, candidates, is_multivariate, is_grouped, counts_running}, seed));
  });
  module.def("gp_sampler", [=](int startup_trials, std::uint64_t seed) {
    return shared(make_gp_sampler({.startup_trials = startup_trials}, seed));
  });
  module.def("cma_es_sampler", [=](int population, std::uint64_t seed) {
    return shared(make_cma_es_sampler({.population = population}, seed));
  });
  module.def("nsga2_sampler", [=](int population, double crossover, double swap, double mutation,
                                  std::uint64_t seed) {
    return shared(make_nsga2_sampler({population, crossover, swap, mutation}, seed));
  });
}

void bind_pruners(py::module_& module) {
  py::class_<Pruner, std::shared_ptr<Pruner>>(module, "Pruner");
  const auto shared = [](std::unique_ptr<Pruner> pruner) {
    return std::shared_ptr<Pruner>(std::move(pruner));
  };
  module.def("no_pruner", [=] { return shared(make_no_pruner()); });
  module.def("percentile_pruner",
             [=](double percentile, std::size_t startup_trials, std::int64_t warmup_steps,
                 std::int64_t interval_steps, std::size_t min_trials) {
               return shared(make_percentile_pruner(
                   {percentile, startup_trials, {warmup_steps, interval_steps}, min_trials}));
             });
  module.def("threshold_pruner", [=](double lower, double upper, std::int64_t warmup_steps,
                                     std::int64_t interval_steps) {
    return shared(make_threshold_pruner({lower, upper, {warmup_steps, interval_steps}}));
  });
  module.def("patient_pruner", [=](std::int64_t patience, double min_improvement) {
    return shared(make_patient_pruner(nullptr, patience, min_improvement));
  });
  module.def("wilcoxon_pruner", [=](double p_threshold, std::size_t startup_steps) {
    return shared(make_wilcoxon_pruner({p_threshold, startup_steps}));
  });
  module.def("halving_pruner", [=](std::int64_t min_resource, int reduction_factor,
                                   int skipped_rungs, std::size_t bootstrap_count) {
    return shared(
        make_halving_pruner({min_resource, reduction_factor, skipped_rungs, bootstrap_count}));
  });
  module.def("hyperband_pruner", [=](std::int64_t min_resource, std::int64_t max_resource,
                                     int reduction_factor, std::size_t bootstrap_count) {
    return shared(
        make_hyperband_pruner({min_resource, max_resource, reduction_factor, bootstrap_count}));
  });
}

void bind_file(py::module_& module) {
  py::class_<StudyFile, std::shared_ptr<StudyFile>>(module, "StudyFile")
      .def(py::init([](const std::filesystem::path& path, bool is_writable) {
             return std::make_shared<StudyFile>(
                 path, is_writable ? StudyFile::Access::kWrite : StudyFile::Access::kRead);
           }),
           WithoutGil())
      // [(id, name, is_maximized)]
      .def("studies",
           [](StudyFile& self) {
             std::vector<std::tuple<std::int64_t, std::string, std::vector<bool>>> studies;
             const py::gil_scoped_release release;
             for (const StudyRecord& one : self.studies()) {
               studies.emplace_back(one.id, one.name, is_maximized(one.directions));
             }
             return studies;
           })
      .def(
          "create",
          [](StudyFile& self, const std::string& name, const std::vector<bool>& maximized) {
            return self.create(name, directions_of(maximized), "{}").id;
          },
          WithoutGil())
      .def("remove", &StudyFile::remove, WithoutGil())
      .def(
          "attributes",
          [](StudyFile& self, const std::string& name, bool is_system) {
            return self.attributes(self.find(name), is_system);
          },
          WithoutGil())
      .def(
          "set_attribute",
          [](StudyFile& self, const std::string& name, bool is_system, const std::string& key,
             const std::string& json) {
            self.set_attribute(self.find(name), is_system, key, json);
          },
          WithoutGil());
}

// A study as (name, is_maximized, trials, user attributes, system attributes).
using StudyTuple =
    std::tuple<std::string, std::vector<bool>, std::vector<Trial>, Attributes, Attributes>;

void bind_optuna(py::module_& module) {
  module.def(
      "read_optuna",
      [](const std::filesystem::path& path) {
        std::vector<StudyTuple> studies;
        for (PortableStudy& one : read_optuna(path)) {
          studies.emplace_back(one.name, is_maximized(one.directions), std::move(one.trials),
                               one.user_attributes, one.system_attributes);
        }
        return studies;
      },
      WithoutGil());
  module.def(
      "write_optuna",
      [](const std::filesystem::path& path, const StudyTuple& study, bool is_version_3_0) {
        const auto& [name, maximized, trials, user, system] = study;
        write_optuna(path, {{name, directions_of(maximized), trials, user, system}},
                     is_version_3_0 ? OptunaSchema::kVersion30 : OptunaSchema::kVersion32);
      },
      WithoutGil());
}

void bind_study(py::module_& module) {
  py::class_<Study, std::shared_ptr<Study>>(module, "Study")
      .def(py::init(&make_study), WithoutGil())
      .def(
          "ask", [](Study& self) { return self.ask(); }, WithoutGil())
      .def("suggest", &Study::suggest, WithoutGil())
      .def("set_parameter", &Study::set_parameter, WithoutGil())
      .def("report", &Study::report, WithoutGil())
      .def(
          "should_prune",
          [](Study& self, std::int64_t number) {
            check_number(self, number);
            return self.should_prune(number);
          },
          WithoutGil())
      .def(
          "tell",
          [](Study& self, std::int64_t number, int state, const std::vector<double>& values) {
            self.tell(number, static_cast<TrialState>(state), values);
          },
          WithoutGil())
      .def(
          "set_constraints",
          [](Study& self, std::int64_t number, const std::vector<double>& constraints) {
            check_number(self, number);
            self.set_constraints(number, constraints);
          },
          WithoutGil())
      .def(
          "set_attribute",
          [](Study& self, std::int64_t number, bool is_system, const std::string& key,
             const std::string& json) {
            check_number(self, number);
            self.set_attribute(number, is_system, key, json);
          },
          WithoutGil())
      .def("add", &Study::add, WithoutGil())
      .def(
          "trial",
          [](Study& self, std::int64_t number) {
            check_number(self, number);
            return self.trial(number);
          },
          WithoutGil())
      .def("size", &Study::size, WithoutGil())
      .def("states", &states, WithoutGil())
      .def("best", &best_number, WithoutGil())
      .def(
          "pareto_front",
          [](Study& self) {
            return self.inspect([](const History& history) { return history.pareto_front(); });
          },
          WithoutGil())
      .def("importances", &importances, WithoutGil())
      .def("reason", &Study::reason, WithoutGil())
      .def("replace_sampler", &Study::replace_sampler, WithoutGil())
      .def("replace_pruner", &Study::replace_pruner, WithoutGil())
      .def("joint_space", &joint_space, WithoutGil())
      .def("draw_together", &draw_together, WithoutGil())
      .def("draw_alone", &draw_alone, WithoutGil())
      .def("is_pruned_by", &is_pruned_by, WithoutGil());
}

}  // namespace
}  // namespace tutti::tune

PYBIND11_MODULE(_tune, module) {
  using namespace tutti::tune;
  module.doc() = "Hyper-parameter search; the public API is tutti.tune.";
  py::register_local_exception_translator(&raise_in_python);
  bind_values(module);
  bind_samplers(module);
  bind_pruners(module);
  bind_file(module);
  bind_optuna(module);
  bind_study(module);
}
