// tutti._comm: the communicator and the fusion engine for Python. The modules ddl, pyddl and
// tutti.horovod give it the names that people know.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "python/bindings/array_view.h"
#include "python/bindings/job.h"
#include "tutti/comm/fusion/gradient_buckets.h"
#include "tutti/comm/options.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/error.h"

namespace py = pybind11;

namespace tutti::python {
namespace {

using comm::Codec;
using comm::Communicator;
using comm::Work;
using comm::fusion::Call;
using comm::fusion::Engine;
using comm::fusion::GradientBuckets;
using comm::fusion::Kind;
using comm::fusion::Ticket;

// Runs `call` while other Python threads may run.
template <class F>
auto without_gil(F&& call) {
  const py::gil_scoped_release release;
  return call();
}

Job& job() {
  return Job::instance();
}

// Library memory as a Python buffer of bytes.
class Memory {
 public:
  Memory(std::size_t bytes, std::size_t alignment) : arena_(job().world()->arena()) {
    data_ = arena_->allocate(bytes, alignment == 0 ? 64 : alignment, &bytes_);
  }
  ~Memory() { release(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void release() {
    if (data_) arena_->free(std::exchange(data_, nullptr));
    bytes_ = 0;
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<comm::Arena> arena_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A tensor under way. The arrays live at least until it is complete, even when nobody keeps the
// handle.
class Handle {
 public:
  Handle(Ticket ticket, py::object arrays, std::shared_ptr<int> last = nullptr)
      : ticket_(std::move(ticket)), arrays_(std::move(arrays)), last_(std::move(last)) {}
  ~Handle() {
    if (!ticket_.work.is_complete()) orphans().emplace_back(ticket_.work, std::move(arrays_));
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool is_complete() const { return ticket_.work.is_complete(); }
  void wait() const {
    without_gil([&] { ticket_.work.wait(); });
  }
  // By tensor: (rows from each rank, bytes).
  py::list gathered() const {
    py::list all;
    for (std::size_t t = 0; t < ticket_.gathered->memory.size(); ++t) {
      auto* keeper = new std::shared_ptr<comm::fusion::Gathered>(ticket_.gathered);
      all.append(py::make_tuple(ticket_.gathered->rows[t],
                                reinterpret_cast<std::uintptr_t>(ticket_.gathered->memory[t].get()),
                                py::capsule(keeper, [](void* p) {
                                  delete static_cast<std::shared_ptr<comm::fusion::Gathered>*>(p);
                                })));
    }
    return all;
  }
  int last_joined() const { return last_ ? *last_ : -1; }

  static void forget_complete_orphans() {
    auto& all = orphans();
    if (!all.empty())
      std::erase_if(all, [](const auto& orphan) { return orphan.first.is_complete(); });
  }

 private:
  static std::vector<std::pair<Work, py::object>>& orphans() {
    static auto* const all = new std::vector<std::pair<Work, py::object>>;
    return *all;
  }
  Ticket ticket_;
  py::object arrays_;
  std::shared_ptr<int> last_;
};

std::unique_ptr<Handle> submit(Call call, py::object arrays, int process_set) {
  Handle::forget_complete_orphans();
  const auto engine = job().engine(process_set);
  Ticket ticket =
      engine->submit(std::move(call));  // short, so other threads need not run meanwhile
  return std::make_unique<Handle>(std::move(ticket), std::move(arrays));
}

std::string shape_text(const std::vector<std::int64_t>& shape, std::size_t from = 0) {
  std::string text;
  for (std::size_t d = from; d < shape.size(); ++d)
    text += (d > from ? "x" : "") + std::to_string(shape[d]);
  return text;
}

// The views that a call borrows, kept as long as its handle.
py::object keep(std::vector<ArrayView> views, const py::object& more) {
  py::list owners;
  for (ArrayView& view : views) owners.append(std::move(view.owner));
  owners.append(more);
  return owners;
}

std::unique_ptr<Handle> all_reduce_async(const std::string& name, const py::list& inputs,
                                         const py::list& outputs, ReduceOp op, bool adasum,
                                         double prescale, double postscale,
                                         const std::string& compression, int priority, bool is_kept,
                                         int process_set) {
  Call call{.name = name,
            .kind = adasum ? Kind::kAdasum : Kind::kAllReduce,
            .op = op,
            .prescale = prescale,
            .postscale = postscale,
            .compression = Codec::parse(compression),
            .priority = priority,
            .is_kept = is_kept};
  std::vector<ArrayView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    views.push_back(view_of(inputs[i], false));
    const Buffer input = views.back().elements();
    call.shape += (i > 0 ? "," : "") + shape_text(views.back().shape);
    if (!inputs[i].is(outputs[i])) views.push_back(view_of(outputs[i], true));
    call.tensors.push_back({input, views.back().elements()});
  }
  return submit(std::move(call), keep(std::move(views), py::make_tuple(inputs, outputs)),
                process_set);
}

std::unique_ptr<Handle> broadcast_async(const std::string& name, const py::object& input,
                                        const py::object& output, int root, bool is_kept,
                                        int process_set) {
  std::vector<ArrayView> views = {view_of(input, false)};
  Call call{.name = name,
            .kind = Kind::kBroadcast,
            .root = root,
            .is_kept = is_kept,
            .shape = shape_text(views[0].shape)};
  if (!input.is(output)) views.push_back(view_of(output, true));
  call.tensors = {{views[0].movable(), views.back().movable()}};
  return submit(std::move(call), keep(std::move(views), py::make_tuple(input, output)),
                process_set);
}

std::int64_t row_elements(const ArrayView& view, const Buffer& buffer) {
  std::int64_t elements = view.has_dtype ? 1 : static_cast<std::int64_t>(view.item_bytes);
  for (std::size_t d = 1; d < view.shape.size(); ++d) elements *= view.shape[d];
  return view.shape.empty() ? buffer.count : elements;
}

std::unique_ptr<Handle> all_gather_async(const std::string& name, const py::list& inputs,
                                         bool is_kept, int process_set) {
  Call call{.name = name, .kind = Kind::kAllGather, .is_kept = is_kept};
  std::vector<ArrayView> views;
  for (const auto& input : inputs) {
    const ArrayView& view = views.emplace_back(view_of(input, false));
    call.tensors.push_back({view.movable(), {}});
    call.rows.push_back(view.shape.empty() ? 1 : view.shape[0]);
    call.row_elements.push_back(row_elements(view, view.movable()));
    call.shape += "?x" + shape_text(view.shape, 1);
  }
  return submit(std::move(call), keep(std::move(views), inputs), process_set);
}

std::unique_ptr<Handle> all_to_all_async(const std::string& name, const py::object& input,
                                         const std::vector<std::int64_t>& splits, bool is_kept,
                                         int process_set) {
  std::vector<ArrayView> views = {view_of(input, false)};
  Call call{.name = name, .kind = Kind::kAllToAll, .is_kept = is_kept, .rows = splits};
  call.tensors = {{views[0].movable(), {}}};
  call.row_elements = {row_elements(views[0], views[0].movable())};
  call.shape = "?x" + shape_text(views[0].shape, 1);
  return submit(std::move(call), keep(std::move(views), input), process_set);
}

std::unique_ptr<Handle> reduce_scatter_async(const std::string& name, const py::list& inputs,
                                             const py::list& outputs, ReduceOp op, double prescale,
                                             double postscale, bool is_kept, int process_set) {
  Call call{.name = name,
            .kind = Kind::kReduceScatter,
            .op = op,
            .prescale = prescale,
            .postscale = postscale,
            .is_kept = is_kept};
  std::vector<ArrayView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    views.push_back(view_of(inputs[i], false));
    const ArrayView input = views.back();
    views.push_back(view_of(outputs[i], true));
    call.tensors.push_back({input.elements(), views.back().elements()});
    call.rows.push_back(input.shape.at(0));
    call.row_elements.push_back(row_elements(input, input.elements()));
    call.shape += (i > 0 ? "," : "") + shape_text(input.shape);
  }
  return submit(std::move(call), keep(std::move(views), py::make_tuple(inputs, outputs)),
                process_set);
}

std::unique_ptr<Handle> join_async(int process_set) {
  const auto engine = job().engine(process_set);
  auto last = std::make_shared<int>(-1);
  Ticket ticket{without_gil([&] { return engine->join(last); }), nullptr};
  return std::make_unique<Handle>(std::move(ticket), py::none(), last);
}

// Gradient i of a model is `gradient(i)`: (address, count).
class Gradients {
 public:
  Gradients(const std::vector<std::pair<std::int64_t, DType>>& sizes, const std::string& name,
            std::size_t bucket_bytes, int passes, ReduceOp op, bool adasum, double prescale,
            double postscale, const std::string& compression, int process_set)
      : engine_(job().engine(process_set)) {
    std::vector<comm::fusion::GradientSize> all;
    for (const auto& [count, dtype] : sizes) all.push_back({count, dtype});
    GradientBuckets::Settings settings{.name = name,
                                       .bucket_bytes = bucket_bytes,
                                       .passes = passes,
                                       .kind = adasum ? Kind::kAdasum : Kind::kAllReduce,
                                       .op = op,
                                       .prescale = prescale,
                                       .postscale = postscale,
                                       .compression = Codec::parse(compression)};
    settings.first_bytes = std::min(settings.first_bytes, bucket_bytes);
    buckets_ = std::make_unique<GradientBuckets>(*engine_, all, settings);
  }
  ~Gradients() {
    without_gil([&] { buckets_.reset(); });
  }
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;
  GradientBuckets& operator*() const { return *buckets_; }
  GradientBuckets* operator->() const { return buckets_.get(); }

 private:
  std::shared_ptr<Engine> engine_;  // before what needs it
  std::unique_ptr<GradientBuckets> buckets_;
};

py::dict statistics(int process_set) {
  const auto s = job().engine(process_set)->statistics();
  py::dict all;
  all["tensors"] = s.tensors;
  all["buckets"] = s.buckets;
  all["copied_bytes"] = s.copied_bytes;
  all["messages"] = s.messages;
  all["full_reports"] = s.full_reports;
  all["known_reports"] = s.known_reports;
  all["bucket_bytes"] = s.bucket_bytes;
  all["cycle_ms"] = s.cycle_ms;
  all["is_tuned"] = s.is_tuned;
  return all;
}

void bind_errors(py::module_& module) {
  // Each class with the attribute `code`.
  static PyObject* const base = PyErr_NewException("tutti.Error", PyExc_RuntimeError, nullptr);
  static std::map<ErrorKind, PyObject*> kinds;
  const auto add = [&](ErrorKind kind, const char* name, PyObject* second) {
    const py::tuple bases = second ? py::make_tuple(py::handle(base), py::handle(second))
                                   : py::make_tuple(py::handle(base));
    kinds[kind] = PyErr_NewException((std::string("tutti.") + name).c_str(), bases.ptr(), nullptr);
    module.attr(name) = py::handle(kinds[kind]);
  };
  module.attr("Error") = py::handle(base);
  add(ErrorKind::kConfig, "ConfigError", PyExc_ValueError);
  add(ErrorKind::kComm, "CommError", nullptr);
  add(ErrorKind::kTimeout, "TimeoutError", PyExc_TimeoutError);
  add(ErrorKind::kMemory, "MemoryError", PyExc_MemoryError);
  add(ErrorKind::kIo, "IoError", PyExc_OSError);
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      PyObject* const type = kinds[error.kind()];
      const py::object value = py::reinterpret_borrow<py::object>(type)(error.what());
      value.attr("code") = error.code();
      PyErr_SetObject(type, value.ptr());
    }
  });
}

void bind_types(py::module_& module) {
  py::enum_<DType>(module, "DType")
      .value("f32", DType::kF32)
      .value("f64", DType::kF64)
      .value("f16", DType::kF16)
      .value("bf16", DType::kBF16)
      .value("i8", DType::kI8)
      .value("u8", DType::kU8)
      .value("i32", DType::kI32)
      .value("i64", DType::kI64);
  py::enum_<ReduceOp>(module, "ReduceOp")
      .value("sum", ReduceOp::kSum)
      .value("average", ReduceOp::kAverage)
      .value("min", ReduceOp::kMin)
      .value("max", ReduceOp::kMax)
      .value("product", ReduceOp::kProduct);
  py::class_<Memory, std::shared_ptr<Memory>>(module, "Memory", py::buffer_protocol())
      .def(py::init<std::size_t, std::size_t>(), py::arg("bytes"), py::arg("alignment") = 64)
      .def("release", &Memory::release)
      .def_property_readonly(
          "address", [](const Memory& m) { return reinterpret_cast<std::uintptr_t>(m.data()); })
      .def("__len__", &Memory::bytes)
      .def_buffer([](Memory& m) {
        return py::buffer_info(m.data(), 1, "B", static_cast<py::ssize_t>(m.bytes()));
      });
  py::class_<Handle>(module, "Handle")
      .def("is_complete", &Handle::is_complete)
      .def("wait", &Handle::wait)
      .def("gathered", &Handle::gathered)
      .def("last_joined", &Handle::last_joined);
}

void bind_job(py::module_& module) {
  module.def(
      "begin", [](const std::string& options) { without_gil([&] { job().begin(options); }); },
      py::arg("options") = "");
  module.def("end", [] { without_gil([] { job().end(); }); });
  module.def("is_running", [] { return job().is_running(); });
  module.def("rank", [] { return job().world()->rank(); });
  module.def("size", [] { return job().world()->size(); });
  module.def("local_rank", [] { return job().world()->local_rank(); });
  module.def("local_size", [] { return job().world()->local_size(); });
  // Of each rank the number of its host, from 0.
  module.def("hosts", [] {
    const auto world = job().world();
    std::vector<int> hosts(static_cast<std::size_t>(world->size()));
    for (std::size_t h = 0; h < world->layout().hosts.size(); ++h) {
      for (const int rank : world->layout().hosts[h].ranks)
        hosts[static_cast<std::size_t>(rank)] = static_cast<int>(h);
    }
    return hosts;
  });
  module.def("description", [] { return job().world()->description(); });
  module.def("check", [] { job().world()->check(); });
  module.def("fusion_options", [] {
    return reference_markdown("Options of the fusion engine", comm::fusion::fusion_options());
  });
}

// Blocking calls on all ranks, in the same order everywhere; in place, or into `output`.
void bind_blocking(py::module_& module) {
  module.def(
      "all_reduce",
      [](const py::object& input, const py::object& output, ReduceOp op) {
        const auto world = job().world();
        const ArrayView to = view_of(output.is_none() ? input : output, true);
        const ArrayView from = output.is_none() ? to : view_of(input, false);
        const Buffer source = from.elements(), target = to.elements();
        without_gil([&] { world->all_reduce(source, target, op); });
      },
      py::arg("input"), py::arg("output") = py::none(), py::arg("op") = ReduceOp::kSum);
  module.def(
      "broadcast",
      [](const py::object& array, int root) {
        const auto world = job().world();
        const ArrayView view = view_of(array, world->rank() != root);
        const Buffer buffer = view.movable();
        without_gil([&] { world->broadcast(buffer, root); });
      },
      py::arg("array"), py::arg("root") = 0);
  module.def("barrier", [] {
    const auto world = job().world();
    without_gil([&] { world->barrier(); });
  });
  // Copies bytes; returns how many.
  module.def(
      "copy",
      [](const py::object& target, const py::object& source, std::size_t bytes) {
        const ArrayView to = view_of(target, true), from = view_of(source, false);
        if (bytes > to.bytes().bytes() || bytes > from.bytes().bytes())
          throw ConfigError("DDL-4-01", "A copy of more bytes than the target or the source has.");
        without_gil([&] { std::memcpy(to.data, from.data, bytes); });
        return bytes;
      },
      py::arg("target"), py::arg("source"), py::arg("bytes"));
  // The elements of any array as (address, count, type).
  module.def("view", [](const py::object& array) {
    const ArrayView view = view_of(array, false);
    return py::make_tuple(reinterpret_cast<std::uintptr_t>(view.data), view.count(),
                          static_cast<int>(view.elements().dtype));
  });
}

void bind_fusion(py::module_& module) {
  const auto kept = py::arg("is_kept") = true;
  const auto set = py::arg("process_set") = 0;
  module.def("all_reduce_async", &all_reduce_async, py::arg("name"), py::arg("inputs"),
             py::arg("outputs"), py::arg("op") = ReduceOp::kSum, py::arg("adasum") = false,
             py::arg("prescale") = 1.0, py::arg("postscale") = 1.0, py::arg("compression") = "none",
             py::arg("priority") = 0, kept, set);
  module.def("broadcast_async", &broadcast_async, py::arg("name"), py::arg("input"),
             py::arg("output"), py::arg("root"), kept, set);
  module.def("all_gather_async", &all_gather_async, py::arg("name"), py::arg("inputs"), kept, set);
  module.def("all_to_all_async", &all_to_all_async, py::arg("name"), py::arg("input"),
             py::arg("splits"), kept, set);
  module.def("reduce_scatter_async", &reduce_scatter_async, py::arg("name"), py::arg("inputs"),
             py::arg("outputs"), py::arg("op") = ReduceOp::kSum, py::arg("prescale") = 1.0,
             py::arg("postscale") = 1.0, kept, set);
  module.def(
      "barrier_async",
      [](const std::string& name, int process_set) {
        return submit({.name = name, .kind = Kind::kBarrier, .is_kept = false}, py::none(),
                      process_set);
      },
      py::arg("name"), set);
  module.def("join_async", &join_async, set);
  module.def("set_rank", [](int id) { return job().engine(id)->rank(); });
  module.def("set_size", [](int id) { return job().engine(id)->size(); });
  module.def("add_process_set", [](const std::vector<int>& ranks) {
    return without_gil([&] { return job().add_process_set(ranks); });
  });
  module.def("remove_process_set",
             [](int id) { without_gil([&] { job().remove_process_set(id); }); });
  module.def("process_sets", [] { return job().process_sets(); });
  module.def("start_timeline",
             [](const std::string& file) { job().engine(0)->start_timeline(file); });
  module.def("stop_timeline", [] {
    const auto engine = job().engine(0);
    without_gil([&] { engine->stop_timeline().wait(); });
  });
  module.def("statistics", &statistics, set);
  py::class_<Gradients>(module, "Gradients")
      .def(py::init<const std::vector<std::pair<std::int64_t, DType>>&, const std::string&,
                    std::size_t, int, ReduceOp, bool, double, double, const std::string&, int>(),
           py::arg("sizes"), py::arg("name"), py::arg("bucket_bytes") = 4 << 20,
           py::arg("passes") = 1, py::arg("op") = ReduceOp::kAverage, py::arg("adasum") = false,
           py::arg("prescale") = 1.0, py::arg("postscale") = 1.0, py::arg("compression") = "none",
           py::arg("process_set") = 0)
      .def("gradient",
           [](const Gradients& g, std::size_t i) {
             const Buffer buffer = g->gradient(i);
             return py::make_tuple(reinterpret_cast<std::uintptr_t>(buffer.data), buffer.count);
           })
      .def("mark_ready", [](const Gradients& g, std::size_t i) { g->mark_ready(i); })
      .def("set_passes", [](const Gradients& g, int passes) { g->set_passes(passes); })
      .def("synchronize", [](const Gradients& g) { without_gil([&] { g->synchronize(); }); })
      .def("is_reducing", [](const Gradients& g) { return g->is_reducing(); });
}

}  // namespace

PYBIND11_MODULE(_comm, module) {
  module.doc() = "The communicator and the fusion engine, as C++ has them.";
  bind_errors(module);
  bind_types(module);
  bind_job(module);
  bind_blocking(module);
  bind_fusion(module);
}

}  // namespace tutti::python
