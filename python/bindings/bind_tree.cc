// tutti._tree: Python bindings of trees, used by the package tutti.learn.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "python/bindings/learn_arrays.h"
#include "python/bindings/progress_callback.h"
#include "tutti/comm/communicator.h"
#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/boosting.h"
#include "tutti/learn/tree/forest.h"
#include "tutti/learn/tree/io/export.h"
#include "tutti/learn/tree/io/import.h"
#include "tutti/learn/tree/io/model_json.h"
#include "tutti/learn/tree/predict/predictor.h"
#include "tutti/learn/tree/predict/shap.h"

namespace py = pybind11;

namespace tutti::learn::tree {
namespace {

// Wraps a csr_matrix or csc_matrix of SciPy.
OwnedMatrix sparse(const py::object& matrix) {
  OwnedMatrix held =
      sparse_matrix(py::str(matrix.attr("format")), matrix.attr("shape"), matrix.attr("indptr"),
                    matrix.attr("indices"), matrix.attr("data"));
  check_structure(held.matrix);
  return held;
}

OwnedMatrix matrix_of(const py::object& given) {
  return py::isinstance<py::array>(given) ? dense(given.cast<py::array>()) : sparse(given);
}

// Communicator of all ranks of the job, created on first use and destroyed before MPI is finalised. Requires the GIL.
comm::Communicator* world(bool is_distributed) {
  static std::unique_ptr<comm::Communicator> communicator;
  if (!is_distributed) return nullptr;
  if (!communicator) {
    communicator = comm::Communicator::from_environment();
    py::module_::import("atexit").attr("register")(py::cpp_function([] { communicator.reset(); }));
  }
  return communicator.get();
}

void take_bins(const py::dict& from, BinOptions& bins) {
  take(from, "max_bins", bins.max_bins);
  take(from, "categorical", bins.categorical);
  take(from, "sample", bins.sample);
}

ForestOptions forest_options(const py::dict& from) {
  ForestOptions options;
  take(from, "trees", options.trees);
  take(from, "classes", options.classes);
  take(from, "uses_entropy", options.uses_entropy);
  take(from, "max_depth", options.max_depth);
  take(from, "max_leaves", options.max_leaves);
  take(from, "min_samples_leaf", options.min_samples_leaf);
  take(from, "min_samples_split", options.min_samples_split);
  take(from, "min_weight_leaf", options.min_weight_leaf);
  take(from, "min_gain", options.min_gain);
  take(from, "columns_per_node", options.columns_per_node);
  take(from, "random_thresholds", options.random_thresholds);
  take(from, "bootstrap", options.bootstrap);
  take(from, "samples", options.samples);
  take(from, "seed", options.seed);
  take(from, "memory_limit", options.memory_limit);
  take(from, "exact_splits", options.exact_splits);
  take_bins(from, options.bins);
  return options;
}

BoostOptions boost_options(const py::dict& from) {
  BoostOptions options;
  take(from, "objective", options.objective);
  take(from, "classes", options.classes);
  take(from, "class_curvature", options.class_curvature);
  take(from, "alpha", options.alpha);
  take(from, "rounds", options.rounds);
  take(from, "learning_rate", options.learning_rate);
  take(from, "max_depth", options.max_depth);
  take(from, "max_leaves", options.max_leaves);
  take(from, "min_max_depth", options.min_max_depth);
  take(from, "min_samples_leaf", options.min_samples_leaf);
  take(from, "min_child_weight", options.min_child_weight);
  take(from, "l2", options.l2);
  take(from, "min_gain", options.min_gain);
  take(from, "max_step", options.max_step);
  take(from, "subsample", options.subsample);
  take(from, "columns_per_tree", options.columns_per_tree);
  take(from, "tree_probability", options.tree_probability);
  take(from, "fourier_components", options.fourier_components);
  take(from, "fourier_gamma", options.fourier_gamma);
  take(from, "fourier_l2", options.fourier_l2);
  take(from, "fourier_constant", options.fourier_constant);
  take(from, "columns_per_node", options.columns_per_node);
  if (from.contains("base_score")) options.base_score = from["base_score"].cast<double>();
  take(from, "early_stopping_rounds", options.early_stopping_rounds);
  take(from, "early_stopping_tolerance", options.early_stopping_tolerance);
  take(from, "is_exact", options.is_exact);
  take(from, "seed", options.seed);
  take(from, "memory_limit", options.memory_limit);
  take(from, "exact_splits", options.exact_splits);
  take_bins(from, options.bins);
  return options;
}

// A model with its predictor.
struct Fitted {
  Model model;
  Predictor predictor;
  explicit Fitted(Model trained) : model(std::move(trained)), predictor(model) {}
};

// Returns a callback that reports every round to Python.
std::function<bool(int, double)> progress_function(const py::object& progress,
                                                   ProgressCallback& callback) {
  return [&progress, &callback](int round, double loss) {
    return callback.invoke(
        [&] { return progress.is_none() || progress(round, loss).cast<bool>(); });
  };
}

py::tuple fit_forest(const py::object& x, const Doubles& y, const Doubles& weights,
                     const py::dict& given, int threads, const py::object& progress,
                     bool is_distributed) {
  const OwnedMatrix held = matrix_of(x);
  ForestOptions options = forest_options(given);
  comm::Communicator* const communicator = world(is_distributed);
  ProgressCallback callback;
  options.progress = [report = progress_function(progress, callback)](int trees) {
    return report(trees - 1, 0);
  };
  std::unique_ptr<Fitted> fitted;
  {
    const py::gil_scoped_release release;
    Threads pool(threads);
    fitted = std::make_unique<Fitted>(
        train_forest(held.matrix, {span_of(y), span_of(weights)}, options, pool, communicator));
  }
  return py::make_tuple(std::move(fitted), callback.was_interrupted());
}

py::tuple fit_boosting(const py::object& x, const Doubles& y, const Doubles& weights,
                       const py::object& x_validation, const Doubles& y_validation,
                       const Doubles& weights_validation, const py::dict& given, int threads,
                       const py::object& progress, bool is_distributed) {
  const OwnedMatrix held = matrix_of(x);
  OwnedMatrix held_validation;
  ValidationSet validation;
  if (!x_validation.is_none()) {
    held_validation = matrix_of(x_validation);
    validation = {held_validation.matrix, {span_of(y_validation), span_of(weights_validation)}};
  }
  BoostOptions options = boost_options(given);
  comm::Communicator* const communicator = world(is_distributed);
  ProgressCallback callback;
  options.progress = progress_function(progress, callback);
  Boosted boosted;
  std::unique_ptr<Fitted> fitted;
  {
    const py::gil_scoped_release release;
    Threads pool(threads);
    boosted = train_boosting(held.matrix, {span_of(y), span_of(weights)}, options, pool,
                             x_validation.is_none() ? nullptr : &validation, communicator);
    fitted = std::make_unique<Fitted>(std::move(boosted.model));
  }
  return py::make_tuple(std::move(fitted), boosted.validation_losses, boosted.best_round,
                        callback.was_interrupted());
}

Doubles predict(const Fitted& fitted, const py::object& x, int threads, bool with_link) {
  const OwnedMatrix held = matrix_of(x);
  const int outputs = fitted.model.outputs;
  Doubles out({static_cast<py::ssize_t>(held.matrix.rows), static_cast<py::ssize_t>(outputs)});
  const std::span<double> values(out.mutable_data(), static_cast<std::size_t>(out.size()));
  const py::gil_scoped_release release;
  // For few rows, starting threads takes longer than predicting.
  Threads pool(held.matrix.rows < 256 ? 1 : threads);
  fitted.predictor.predict(held.matrix, values, pool);
  if (with_link) apply_link(fitted.model.link, outputs, values);
  return out;
}

py::array_t<std::int32_t> leaves(const Fitted& fitted, const py::object& x, int threads) {
  const OwnedMatrix held = matrix_of(x);
  py::array_t<std::int32_t> out({static_cast<py::ssize_t>(held.matrix.rows),
                                 static_cast<py::ssize_t>(fitted.model.trees.size())});
  const std::span<std::int32_t> values(out.mutable_data(), static_cast<std::size_t>(out.size()));
  const py::gil_scoped_release release;
  Threads pool(threads);
  fitted.predictor.leaves(held.matrix, values, pool);
  return out;
}

Doubles shap(const Fitted& fitted, const py::object& x, int threads) {
  const OwnedMatrix held = matrix_of(x);
  std::vector<double> values;
  {
    const py::gil_scoped_release release;
    Threads pool(threads);
    values = shap_values(fitted.model, held.matrix, pool);
  }
  Doubles out({static_cast<py::ssize_t>(held.matrix.rows),
               static_cast<py::ssize_t>(fitted.model.outputs),
               static_cast<py::ssize_t>(fitted.model.columns + 1)});
  std::copy(values.begin(), values.end(), out.mutable_data());
  return out;
}

template <class T, class Of>
py::array_t<T> of_nodes(const Tree& tree, Of of) {
  py::array_t<T> values(static_cast<py::ssize_t>(tree.nodes.size()));
  std::transform(tree.nodes.begin(), tree.nodes.end(), values.mutable_data(), of);
  return values;
}

// Returns one tree as arrays under the names of docs/formats/trees.md; JSON would take minutes for a forest.
py::dict nodes(const Fitted& fitted, std::size_t index) {
  const Tree& tree = fitted.model.trees.at(index);
  py::dict arrays;
  arrays["left"] = of_nodes<std::int32_t>(tree, [](const Node& n) { return n.left; });
  arrays["right"] = of_nodes<std::int32_t>(tree, [](const Node& n) { return n.right; });
  arrays["column"] = of_nodes<std::int32_t>(tree, [](const Node& n) { return n.column; });
  arrays["categories"] = of_nodes<std::int32_t>(tree, [](const Node& n) { return n.categories; });
  arrays["threshold"] = of_nodes<double>(tree, [](const Node& n) { return n.threshold; });
  arrays["missing_left"] = of_nodes<bool>(tree, [](const Node& n) { return n.missing_left; });
  arrays["gain"] = of_nodes<double>(tree, [](const Node& n) { return n.gain; });
  arrays["cover"] = of_nodes<double>(tree, [](const Node& n) { return n.cover; });
  arrays["count"] = of_nodes<std::int64_t>(tree, [](const Node& n) { return n.count; });
  arrays["values"] =
      Doubles({static_cast<py::ssize_t>(tree.nodes.size()), static_cast<py::ssize_t>(tree.outputs)},
              tree.values.data());
  py::list sets;
  for (const auto& set : tree.category_sets) sets.append(py::make_tuple(set.left, set.known));
  arrays["category_sets"] = sets;
  arrays["output"] = fitted.model.tree_output.at(index);
  return arrays;
}

// Returns a model of this tree only.
std::unique_ptr<Fitted> only(const Fitted& fitted, std::size_t index) {
  const Model& all = fitted.model;
  Model model = {.columns = all.columns,
                 .outputs = all.outputs,
                 .link = all.link,
                 .averages = all.averages,
                 .base = all.base,
                 .trees = {all.trees.at(index)},
                 .tree_output = {all.tree_output.at(index)},
                 .column_names = all.column_names,
                 .absent_is_missing = all.absent_is_missing};
  return std::make_unique<Fitted>(std::move(model));
}

// Returns the bootstrap copies of the rows [begin, end) in a tree.
py::array_t<std::int32_t> copies(const py::dict& given, int tree, std::int64_t begin,
                                 std::int64_t end) {
  const ForestOptions options = forest_options(given);
  py::array_t<std::int32_t> counts(static_cast<py::ssize_t>(end - begin));
  for (std::int64_t row = begin; row < end; ++row)
    counts.mutable_data()[row - begin] = bootstrap_copies(options, tree, row);
  return counts;
}

std::unique_ptr<Fitted> read_model(const std::string& text) {
  return std::make_unique<Fitted>(from_json(text));
}

}  // namespace

PYBIND11_MODULE(_tree, module) {
  module.doc() = "Trees; see tutti.learn.";
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const ConfigError& wrong) {
      PyErr_SetString(PyExc_ValueError, wrong.what());
    } catch (const MemoryError& none) {
      PyErr_SetString(PyExc_MemoryError, none.what());
    } catch (const Error& other) {
      PyErr_SetString(PyExc_RuntimeError, other.what());
    }
  });
  py::class_<Fitted>(module, "Model")
      .def("predict", &predict, py::arg("x"), py::arg("threads") = 1, py::arg("with_link") = true)
      .def("leaves", &leaves, py::arg("x"), py::arg("threads") = 1)
      .def("shap", &shap, py::arg("x"), py::arg("threads") = 1)
      .def("nodes", &nodes, py::arg("tree"))
      .def("only", &only, py::arg("tree"))
      .def("importances", [](const Fitted& fitted) { return fitted.model.importances(); })
      .def("to_json", [](const Fitted& fitted) { return to_json(fitted.model); })
      .def("to_onnx", [](const Fitted& fitted) { return py::bytes(to_onnx(fitted.model)); })
      .def("to_pmml", [](const Fitted& fitted) { return to_pmml(fitted.model); })
      .def("to_cpp",
           [](const Fitted& fitted, const std::string& name) { return to_cpp(fitted.model, name); })
      .def("depths",
           [](const Fitted& fitted) {
             std::vector<int> depths;
             for (const Tree& tree : fitted.model.trees) depths.push_back(tree.depth());
             return depths;
           })
      .def("leaf_counts",
           [](const Fitted& fitted) {
             std::vector<int> counts;
             for (const Tree& tree : fitted.model.trees) counts.push_back(tree.leaves());
             return counts;
           })
      .def_property_readonly("columns", [](const Fitted& fitted) { return fitted.model.columns; })
      .def_property_readonly("outputs", [](const Fitted& fitted) { return fitted.model.outputs; })
      .def_property_readonly("trees",
                             [](const Fitted& fitted) { return fitted.model.trees.size(); })
      .def_property_readonly("base", [](const Fitted& fitted) { return fitted.model.base; })
      .def(py::pickle(
          [](const Fitted& fitted) { return py::make_tuple(to_json(fitted.model)); },
          [](const py::tuple& state) { return read_model(state[0].cast<std::string>()); }));
  module.def("fit_forest", &fit_forest);
  module.def("fit_boosting", &fit_boosting);
  module.def("bootstrap_copies", &copies);
  module.def("read_model", &read_model);
  module.def("has_infinite", [](const py::object& x, int threads) {
    const OwnedMatrix held = matrix_of(x);
    const py::gil_scoped_release release;
    Threads pool(held.matrix.entries() < 1 << 16 ? 1 : threads);
    return has_infinite(held.matrix, pool);
  });
  module.def("import_xgboost", [](const std::string& text) {
    return std::make_unique<Fitted>(import_xgboost(text));
  });
  module.def("import_lightgbm", [](const std::string& text) {
    return std::make_unique<Fitted>(import_lightgbm(text));
  });
}

}  // namespace tutti::learn::tree
