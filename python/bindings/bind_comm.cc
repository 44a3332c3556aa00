// tutti._comm: Python bindings of the communicator and the fusion engine. The modules ddl, pyddl and tutti.horovod
// build their APIs on it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <utility>

#include "python/bindings/array_view.h"
#include "python/bindings/bind_comm.h"
#include "python/bindings/job.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/error.h"
#include "tutti/fusion/options.h"

namespace py = pybind11;

namespace tutti::python {
namespace {

// Library-allocated memory as a Python buffer of bytes.
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

void bind_errors(py::module_& module) {
  // Each class has the attribute `code`.
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
  add(ErrorKind::kCompute, "ComputeError", PyExc_ArithmeticError);
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
}

void bind_job(py::module_& module) {
  module.def(
      "begin", [](const std::string& options) { without_gil([&] { job().begin(options); }); },
      py::arg("options") = "");
  module.def("end", [] { without_gil([] { job().end(); }); });
  module.def("abandon", [](const std::string& reason) {
    without_gil([&] { job().world()->abandon(reason); });
  });
  module.def("is_running", [] { return job().is_running(); });
  module.def("rank", [] { return job().world()->rank(); });
  module.def("size", [] { return job().world()->size(); });
  module.def("local_rank", [] { return job().world()->local_rank(); });
  module.def("local_size", [] { return job().world()->local_size(); });
  // Index of the host of each rank.
  module.def("hosts", [] {
    const auto world = job().world();
    std::vector<int> hosts(static_cast<std::size_t>(world->size()));
    for (std::size_t h = 0; h < world->layout().hosts.size(); ++h) {
      for (const int rank : world->layout().hosts[h].ranks) hosts[rank] = static_cast<int>(h);
    }
    return hosts;
  });
  module.def("description", [] { return job().world()->description(); });
  module.def("check", [] { job().world()->check(); });
  module.def("fusion_options", [] {
    return reference_markdown("Options of the fusion engine", fusion::fusion_options());
  });
}

// Blocking calls. All ranks must call them in the same order. In place, or into `output`.
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
  // Copies bytes and returns their number.
  module.def(
      "copy",
      [](const py::object& target, const py::object& source, std::size_t bytes) {
        const ArrayView to = view_of(target, true), from = view_of(source, false);
        if (bytes > to.bytes().bytes() || bytes > from.bytes().bytes())
          throw ConfigError("DDL-4-01", "The copy is larger than its source or target.");
        without_gil([&] { std::memcpy(to.data, from.data, bytes); });
        return bytes;
      },
      py::arg("target"), py::arg("source"), py::arg("bytes"));
  // The elements of an array as (address, count, type).
  module.def("view", [](const py::object& array) {
    const ArrayView view = view_of(array, false);
    return py::make_tuple(reinterpret_cast<std::uintptr_t>(view.data), view.count(),
                          static_cast<int>(view.elements().dtype));
  });
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
