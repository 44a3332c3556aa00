// tutti._learn: Python bindings of data files and linear models, used by the package tutti.learn.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/bindings/learn_arrays.h"
#include "python/bindings/progress_callback.h"
#include "tutti/comm/communicator.h"
#include "tutti/core/bytes.h"
#include "tutti/core/clock.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/any_file.h"
#include "tutti/learn/data/data_file.h"
#include "tutti/learn/data/row_stream.h"
#include "tutti/learn/data/snap_file.h"
#include "tutti/learn/data/svmlight.h"
#include "tutti/learn/glm/fit.h"
#include "tutti/learn/glm/fit_file.h"
#include "tutti/learn/glm/multinomial.h"

namespace py = pybind11;

namespace tutti::learn {
namespace {

constexpr double kLookEverySeconds = 0.05;

// (format, shape, dtype, offsets, indices, values or None, has_unit_norm)
OwnedMatrix sparse(const py::tuple& parts) {
  OwnedMatrix held =
      sparse_matrix(parts[0].cast<std::string>(), parts[1], parts[3], parts[4], parts[5]);
  if (parts[5].is_none()) held.matrix.dtype = dtype_of(parts[2]);
  if (parts[6].cast<bool>()) held.matrix.implicit = Implicit::kUnitNorm;
  return held;
}

OwnedMatrix matrix_of(const py::object& given) {
  return py::isinstance<py::tuple>(given) ? sparse(given.cast<py::tuple>())
                                          : dense(given.cast<py::array>());
}

// The same for functions that do not check the matrix themselves.
OwnedMatrix checked_matrix_of(const py::object& given) {
  OwnedMatrix held = matrix_of(given);
  check_structure(held.matrix);
  return held;
}

// Communicator of the ranks of the job.
class Ranks {
 public:
  Ranks() : communicator_(comm::Communicator::from_environment()) {}
  int rank() const { return communicator_->rank(); }
  int size() const { return communicator_->size(); }
  Doubles sum(const Doubles& values) {
    Doubles total(values.size());
    std::copy_n(values.data(), values.size(), total.mutable_data());
    const std::span<double> span(total.mutable_data(), static_cast<std::size_t>(total.size()));
    const py::gil_scoped_release release;
    communicator_->all_reduce(Buffer::of(span));
    return total;
  }
  comm::Communicator* get() const { return communicator_.get(); }

 private:
  std::unique_ptr<comm::Communicator> communicator_;
};

GlmOptions options_of(const py::dict& from) {
  GlmOptions options;
  options.loss = parse_loss(from["loss"].cast<std::string>());
  std::string solver = "auto";
  take(from, "solver", solver);
  options.solver = parse_solver(solver);
  take(from, "l1", options.l1);
  take(from, "l2", options.l2);
  take(from, "fit_intercept", options.fit_intercept);
  take(from, "penalise_intercept", options.penalise_intercept);
  take(from, "intercept_value", options.intercept_value);
  take(from, "tolerance", options.tolerance);
  take(from, "max_iterations", options.max_iterations);
  take(from, "threads", options.threads);
  take(from, "seed", options.seed);
  take(from, "start_coefficients", options.start_coefficients);
  take(from, "start_intercept", options.start_intercept);
  take(from, "start_intercepts", options.start_intercepts);
  if (from.contains("ranks") && !from["ranks"].is_none())
    options.ranks = from["ranks"].cast<Ranks&>().get();
  return options;
}

// `show` is called with (iteration, seconds, objective, gap).
void listen(GlmOptions& options, const py::dict& from, ProgressCallback& callback) {
  py::object show = py::none();
  if (from.contains("show")) show = from["show"];
  options.on_progress = [show, &callback](const Progress& progress) {
    return callback.invoke([&] {
      if (!show.is_none())
        show(progress.iteration, progress.seconds, progress.objective, progress.dual_gap);
      return true;
    });
  };
  // Chunks arrive every few milliseconds; checking less often leaves the GIL to other Python threads.
  options.should_stop = [&callback, last = Stopwatch()]() mutable {
    if (last.seconds() < kLookEverySeconds) return false;
    last = Stopwatch();
    return !callback.invoke([] { return true; });
  };
}

py::list history_of(const std::vector<Progress>& history) {
  py::list list;
  for (const Progress& p : history)
    list.append(py::make_tuple(p.iteration, p.passes, p.seconds, p.objective, p.dual_gap));
  return list;
}

Doubles array_of(const std::vector<double>& values) {
  return Doubles(static_cast<py::ssize_t>(values.size()), values.data());
}

// Returns an array that takes over the memory of the vector.
Doubles array_of(std::vector<double>&& values) {
  auto* kept = new std::vector<double>(std::move(values));
  const py::capsule owner(kept, [](void* it) { delete static_cast<std::vector<double>*>(it); });
  return Doubles(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

void add_solution(const GlmModel& model, py::dict& result) {
  result["intercept"] = model.intercept;
  result["solver"] = std::string(name_of(model.solver));
  result["why"] = model.why;
}

void add_solution(const MultinomialModel& model, py::dict& result) {
  result["intercepts"] = array_of(model.intercepts);
  result["solver"] = "newton_cg";
  result["why"] = "newton_cg fits all classes of a multinomial model in one problem";
}

// Calls fit(options) without the GIL.
template <class Fit>
py::dict run_fit(const py::dict& requested, const Fit& fit) {
  using namespace py::literals;
  GlmOptions options = options_of(requested);
  ProgressCallback callback;
  listen(options, requested, callback);
  const auto model = [&] {
    const py::gil_scoped_release release;
    return fit(options);
  }();
  py::dict result("coefficients"_a = array_of(model.coefficients), "objective"_a = model.objective,
                  "dual_gap"_a = model.dual_gap, "has_converged"_a = model.has_converged,
                  "history"_a = history_of(model.history),
                  "is_interrupted"_a = callback.was_interrupted());
  add_solution(model, result);
  return result;
}

// The same for out-of-core fits: fit(options, statistics).
template <class Fit>
py::dict run_file_fit(const py::dict& requested, const Fit& fit) {
  using namespace py::literals;
  StreamStats use;
  py::dict result =
      run_fit(requested, [&](const GlmOptions& options) { return fit(options, &use); });
  result["stream"] = py::dict("chunks"_a = use.chunks, "residents"_a = use.residents,
                              "bytes_read"_a = use.bytes_read, "engine"_a = use.engine);
  return result;
}

py::dict fit_linear(const py::object& x, const Doubles& labels, const Doubles& weights,
                    const py::dict& requested) {
  const OwnedMatrix held = matrix_of(x);
  return run_fit(requested, [&](const GlmOptions& options) {
    return fit(held.matrix, span_of(labels), span_of(weights), options);
  });
}

py::dict fit_data_file(const std::shared_ptr<DataFile>& file, const Doubles& labels,
                       const Doubles& weights, std::int64_t memory_limit,
                       const py::dict& requested) {
  return run_file_fit(requested, [&](const GlmOptions& options, StreamStats* use) {
    return fit_file(file, span_of(labels), span_of(weights), options, memory_limit, use);
  });
}

py::dict fit_classes(const py::object& x, const Indices& classes, int count, const Doubles& weights,
                     const py::dict& requested) {
  const OwnedMatrix held = matrix_of(x);
  return run_fit(requested, [&](const GlmOptions& options) {
    return fit_multinomial(held.matrix, span_of(classes), count, span_of(weights), options);
  });
}

py::dict fit_classes_file(const std::shared_ptr<DataFile>& file, const Indices& classes, int count,
                          const Doubles& weights, std::int64_t memory_limit,
                          const py::dict& requested) {
  return run_file_fit(requested, [&](const GlmOptions& options, StreamStats* use) {
    return fit_multinomial_file(file, span_of(classes), count, span_of(weights), options,
                                memory_limit, use);
  });
}

// Measures two passes over the file with a memory limit, without computation.
double read_speed(const std::shared_ptr<DataFile>& file, std::int64_t memory_limit) {
  const py::gil_scoped_release release;
  RowStream stream(file, memory_limit);
  Threads threads(1);
  const auto nothing = [](const Matrix&, std::int64_t) {};
  stream.for_chunks(threads, nothing);
  const std::int64_t before = stream.bytes_read();
  const Stopwatch callback;
  stream.for_chunks(threads, nothing);
  return static_cast<double>(stream.bytes_read() - before) / callback.seconds();
}

Doubles margins(const py::object& x, const Doubles& coefficients, double intercept, int threads) {
  const OwnedMatrix held = checked_matrix_of(x);
  std::vector<double> found;
  {
    const py::gil_scoped_release release;
    found = margins_of(held.matrix, span_of(coefficients), intercept, threads);
  }
  return array_of(found);
}

// Returns (labels, rows, columns, storage, offsets, indices, values or None, has_unit_norm). A dense matrix has
// row-major values and no offsets. The arrays share the memory of the data set.
py::tuple parts_of(const DataSet& data) {
  const Matrix m =
      data.features.is_sparse() ? data.features : to_storage(data.features, Storage::kDense);
  const py::capsule owner(new std::shared_ptr<const void>(m.owner),
                          [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); });
  py::object values = py::none(), offsets = py::none(), indices = py::none();
  if (m.values != nullptr || !m.is_sparse())
    values =
        m.dtype == DType::kF32
            ? py::array(py::array_t<float>(m.entries(), static_cast<const float*>(m.values), owner))
            : py::array(
                  py::array_t<double>(m.entries(), static_cast<const double*>(m.values), owner));
  const char* storage = m.storage == Storage::kDense ? "dense"
                        : m.storage == Storage::kCsr ? "csr"
                                                     : "csc";
  if (m.is_sparse()) {
    const std::int64_t lines = m.storage == Storage::kCsr ? m.rows : m.columns;
    offsets = py::array_t<std::int64_t>(lines + 1, m.offsets, owner);
    indices = py::array_t<std::int32_t>(m.entries(), m.indices, owner);
  }
  return py::make_tuple(array_of(data.labels), m.rows, m.columns, storage, offsets, indices, values,
                        m.implicit == Implicit::kUnitNorm);
}

DType text_type(bool is_double) {
  return is_double ? DType::kF64 : DType::kF32;
}

py::tuple svmlight(const std::string& path, std::int64_t columns, const std::string& base,
                   int threads, bool is_double) {
  SvmlightOptions options{.columns = columns, .threads = threads, .dtype = text_type(is_double)};
  if (base == "zero") options.base = SvmlightOptions::Base::kZero;
  if (base == "one") options.base = SvmlightOptions::Base::kOne;
  DataSet data;
  {
    const py::gil_scoped_release release;
    data = read_svmlight(path, options);
  }
  return parts_of(data);
}

// Reads a file of any format. Returns the parts and the weights, and with `parse_strings` also the categories: one list
// per column, and those of the labels.
py::tuple any_file(const std::string& path, const std::string& kind, const std::string& label,
                   bool is_double, bool parse_strings) {
  DataSet data;
  {
    const py::gil_scoped_release release;
    data = read_any(path, {.kind = kind,
                           .label = label,
                           .parse_strings = parse_strings,
                           .dtype = text_type(is_double)});
  }
  if (!parse_strings) return py::make_tuple(parts_of(data), array_of(data.weights));
  return py::make_tuple(parts_of(data), array_of(data.weights), data.categories.columns,
                        data.categories.labels);
}

// One-hot encodes codes of rows x fields: column offsets[f] + code is 1.
py::tuple codes(const Indices& given, const Offsets& offsets, std::int64_t columns) {
  const DataSet data{.features = from_codes(span_of(given), span_of(offsets), columns),
                     .labels = {},
                     .weights = {}};
  return parts_of(data);
}

py::tuple snap(const std::string& path) {
  return parts_of(read_snap(path));
}

// Reads the chunks [begin, end) of a native data file; end < 0: all.
py::tuple data_file(const std::string& path, std::int64_t begin, std::int64_t end) {
  const DataFile file(path);
  const DataSet data = file.read(begin, end < 0 ? file.chunks() : std::min(end, file.chunks()));
  py::tuple parts = parts_of(data);
  return py::make_tuple(parts, array_of(data.weights));
}

void save_data_file(const std::string& path, const py::object& x, const Doubles& labels,
                    const Doubles& weights, std::int64_t chunk_rows) {
  const OwnedMatrix held = checked_matrix_of(x);
  DataSet data{.features = held.matrix, .labels = {}, .weights = {}};
  data.labels.assign(labels.data(), labels.data() + labels.size());
  data.weights.assign(weights.data(), weights.data() + weights.size());
  write_data_file(path, data, chunk_rows);
}

void save_snap(const std::string& path, const py::object& x, const Doubles& labels) {
  const OwnedMatrix held = checked_matrix_of(x);
  DataSet data{.features = held.matrix, .labels = {}, .weights = {}};
  data.labels.assign(labels.data(), labels.data() + labels.size());
  write_snap(path, data);
}

}  // namespace
}  // namespace tutti::learn

PYBIND11_MODULE(_learn, module) {
  using namespace tutti::learn;
  py::register_local_exception_translator(&raise_in_python);
  py::class_<Ranks>(module, "Ranks", "The ranks of the job that this process belongs to.")
      .def(py::init<>())
      .def_property_readonly("rank", &Ranks::rank)
      .def_property_readonly("size", &Ranks::size)
      .def("sum", &Ranks::sum, "Element-wise sum over all ranks of a vector.");
  py::class_<DataFile, std::shared_ptr<DataFile>>(module, "DataFile", "An open data file.")
      .def(py::init([](const std::string& path, int part, int parts) {
             return std::make_shared<DataFile>(path, part, parts);
           }),
           py::arg("path"), py::arg("part") = 0, py::arg("parts") = 1)
      .def_property_readonly("rows", &DataFile::rows)
      .def_property_readonly("columns", [](const DataFile& f) { return f.schema().columns; })
      .def_property_readonly("entries", &DataFile::entries)
      .def_property_readonly("chunks", &DataFile::chunks)
      .def("read_speed", &read_speed,
           "Read bandwidth in bytes per second, bypassing the page cache.")
      .def("labels", [](const DataFile& file) { return array_of(file.labels()); })
      .def("weights", [](const DataFile& file) { return array_of(file.weights()); });
  module.def("fit_linear", &fit_linear);
  module.def("fit_file", &fit_data_file);
  module.def("fit_classes", &fit_classes);
  module.def("fit_classes_file", &fit_classes_file);
  module.def("margins", &margins);
  module.def("read_svmlight", &svmlight, py::arg("path"), py::arg("columns"), py::arg("base"),
             py::arg("threads"), py::arg("is_double") = false);
  module.def("read_any", &any_file, py::arg("path"), py::arg("kind"), py::arg("label"),
             py::arg("is_double") = false, py::arg("parse_strings") = false);
  module.def("from_codes", &codes);
  module.def("parse_bytes", &tutti::parse_bytes);
  module.def("read_snap", &snap);
  module.def("write_snap", &save_snap);
  module.def("read_data_file", &data_file);
  module.def("write_data_file", &save_data_file);
}
