// tutti._model: model files of `tutti learn` and the table of its options.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "python/bindings/learn_arrays.h"
#include "tutti/learn/model/options.h"
#include "tutti/learn/model/saved_model.h"
#include "tutti/learn/tree/io/model_json.h"

namespace {

namespace py = pybind11;
using namespace tutti;
using namespace tutti::learn;

// The default of each option as a Python value.
py::dict defaults() {
  const Options options(train_options());
  py::dict values;
  for (const OptionSpec& spec : train_options()) {
    const char* name = spec.name.c_str();
    switch (spec.type) {
      case OptionType::kBool: values[name] = options.flag(name); break;
      case OptionType::kInt:
      case OptionType::kBytes: values[name] = options.integer(name); break;
      case OptionType::kFloat: values[name] = options.number(name); break;
      default: values[name] = options.text(name);
    }
  }
  return values;
}

// Option -> keyword and default in snap_ml, as in "tol=0.001".
py::dict snap_ml_defaults() {
  py::dict values;
  for (const LearnOption& option : learn_options())
    if (!option.snap_ml.empty()) values[option.spec.name.c_str()] = std::string(option.snap_ml);
  return values;
}

py::dict read_model(const std::filesystem::path& path) {
  const SavedModel model = load_model(path);
  std::vector<std::vector<double>> coefficients;
  std::vector<double> intercepts;
  for (const LinearPart& part : model.parts) {
    coefficients.push_back(part.coefficients);
    intercepts.push_back(part.intercept);
  }
  py::dict read;
  read["name"] = model.name;
  read["columns"] = model.columns;
  read["classes"] = model.classes;
  read["labels"] = model.categories.labels;
  read["categorical"] = model.categories.categorical();
  read["is_multinomial"] = model.is_multinomial;
  read["coefficients"] = coefficients;
  read["intercepts"] = intercepts;
  if (model.trees) read["trees"] = tree::to_json(*model.trees);
  return read;
}

void write_model(const std::filesystem::path& path, const py::dict& given) {
  SavedModel model;
  model.name = given["name"].cast<std::string>();
  model.columns = given["columns"].cast<std::int64_t>();
  model.classes = given["classes"].cast<std::vector<double>>();
  model.categories.labels = given["labels"].cast<std::vector<std::string>>();
  if (given.contains("trees")) {
    model.trees = tree::from_json(given["trees"].cast<std::string>());
  } else {
    model.is_multinomial = given["is_multinomial"].cast<bool>();
    model.has_log_link = model.name == "poisson" || model.name == "gamma";
    const auto coefficients = given["coefficients"].cast<std::vector<std::vector<double>>>();
    const auto intercepts = given["intercepts"].cast<std::vector<double>>();
    for (std::size_t k = 0; k < coefficients.size(); ++k)
      model.parts.push_back({coefficients[k], intercepts.at(k)});
  }
  save_model(path, model);
}

}  // namespace

PYBIND11_MODULE(_model, module) {
  module.doc() = "Model files of tutti learn, and the table of its options.";
  py::register_local_exception_translator(&raise_in_python);
  module.def("defaults", &defaults);
  module.def("snap_ml_defaults", &snap_ml_defaults);
  module.def("read_model", &read_model);
  module.def("write_model", &write_model);
}
