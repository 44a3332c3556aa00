#include "python/bindings/array_view.h"

#include <fmt/format.h>

#include <bit>
#include <memory>
#include <numeric>

namespace py = pybind11;

namespace tutti::python {
namespace {

// The structures of DLPack (dmlc.github.io/dlpack), version 0.
struct DlDevice {
  std::int32_t type, id;
};
struct DlType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t dimensions;
  DlType type;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
constexpr std::int32_t kDlCpu = 1;
enum DlCode : std::uint8_t { kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlBfloat = 4 };

void set_dtype(ArrayView& view, char kind, std::size_t bytes) {
  const auto known = [&](DType dtype) {
    view.has_dtype = true;
    view.dtype = dtype;
  };
  view.item_bytes = bytes;
  if (kind == 'f' && bytes == 4) known(DType::kF32);
  if (kind == 'f' && bytes == 8) known(DType::kF64);
  if (kind == 'f' && bytes == 2) known(DType::kF16);
  if (kind == 'b' && bytes == 2) known(DType::kBF16);
  if (kind == 'i' && bytes == 1) known(DType::kI8);
  if (kind == 'u' && bytes == 1) known(DType::kU8);
  if (kind == 'i' && bytes == 4) known(DType::kI32);
  if (kind == 'i' && bytes == 8) known(DType::kI64);
}

// Numbers in another byte order can be sent but not reduced.
bool is_foreign(const std::string& format) {
  const bool is_little = std::endian::native == std::endian::little;
  return !format.empty() &&
         std::string(is_little ? ">!" : "<").find(format.front()) != std::string::npos;
}

char kind_of_format(const std::string& format) {
  if (is_foreign(format)) return '?';
  const char letter = format.empty() ? 'B' : format.back();
  if (format.size() > 1 && format.front() == 'Z') return 'c';
  if (std::string("fde").find(letter) != std::string::npos) return 'f';
  if (std::string("bhilqn").find(letter) != std::string::npos) return 'i';
  if (std::string("BHILQNc").find(letter) != std::string::npos) return 'u';
  return '?';
}

[[noreturn]] void refuse_gaps() {
  throw py::value_error(
      "DDL-4-80 The array has gaps (it is not C-contiguous). Use numpy.ascontiguousarray or "
      "tensor.contiguous().");
}

ArrayView view_of_buffer(const py::handle& object, bool writable) {
  auto lent = std::make_unique<Py_buffer>();
  const int flags = PyBUF_FORMAT | PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), lent.get(), flags) != 0) throw py::error_already_set();
  if (!PyBuffer_IsContiguous(lent.get(), 'C')) {
    PyBuffer_Release(lent.get());
    refuse_gaps();
  }
  ArrayView view;
  view.data = lent->buf;
  view.shape.assign(lent->shape, lent->shape + lent->ndim);
  set_dtype(view, kind_of_format(lent->format ? lent->format : ""),
            static_cast<std::size_t>(lent->itemsize));
  view.owner = py::capsule(lent.release(), [](void* pointer) {
    std::unique_ptr<Py_buffer> buffer(static_cast<Py_buffer*>(pointer));
    PyBuffer_Release(buffer.get());
  });
  return view;
}

ArrayView view_of_dlpack(const py::handle& object) {
  const py::object source = py::reinterpret_borrow<py::object>(object);
  const py::capsule capsule = source.attr("__dlpack__")();
  // The capsule is not consumed, so its own destructor frees the memory.
  const auto* tensor =
      static_cast<const DlTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!tensor) throw py::error_already_set();
  if (tensor->device.type != kDlCpu)
    throw py::value_error(
        "DDL-4-81 The array is not in host memory. Copy it to the host first, as with "
        "tensor.cpu().");
  ArrayView view;
  view.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  view.shape.assign(tensor->shape, tensor->shape + tensor->dimensions);
  std::int64_t stride = 1;
  for (std::int32_t d = tensor->dimensions; d-- > 0;) {
    if (tensor->strides && tensor->shape[d] > 1 && tensor->strides[d] != stride && view.count() > 0)
      refuse_gaps();
    stride *= tensor->shape[d];
  }
  const std::uint8_t code = tensor->type.code;
  const char kind = code == kDlInt      ? 'i'
                    : code == kDlUInt   ? 'u'
                    : code == kDlFloat  ? 'f'
                    : code == kDlBfloat ? 'b'
                                        : '?';
  set_dtype(view, kind, static_cast<std::size_t>((tensor->type.bits * tensor->type.lanes + 7) / 8));
  view.owner = py::make_tuple(source, capsule);
  return view;
}

ArrayView view_of_tuple(const py::tuple& tuple) {
  if (tuple.size() != 4)
    throw py::type_error("DDL-4-82 Pass an array, or (address, shape, type, owner).");
  ArrayView view;
  view.data = reinterpret_cast<void*>(
      tuple[0].cast<std::uintptr_t>());  // the caller guarantees the address
  for (const py::handle extent : tuple[1]) view.shape.push_back(extent.cast<std::int64_t>());
  const int type = tuple[2].cast<int>();
  view.has_dtype = type >= 0;
  if (view.has_dtype) view.dtype = static_cast<DType>(type);
  view.item_bytes = view.has_dtype ? size_of(view.dtype) : static_cast<std::size_t>(-type);
  view.owner = tuple[3];
  return view;
}

}  // namespace

std::int64_t ArrayView::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Buffer ArrayView::elements() const {
  if (!has_dtype) {
    throw py::type_error(
        "DDL-4-83 This element type cannot be reduced. Supported types: float16, bfloat16, "
        "float32, "
        "float64, int8, uint8, int32 and int64, in native byte order. Convert others with "
        "array.astype.");
  }
  return {data, count(), dtype};
}

ArrayView view_of(const py::handle& object, bool writable) {
  if (py::isinstance<py::tuple>(object))
    return view_of_tuple(py::reinterpret_borrow<py::tuple>(object));
  if (PyObject_CheckBuffer(object.ptr())) return view_of_buffer(object, writable);
  if (py::hasattr(object, "__dlpack__")) return view_of_dlpack(object);
  throw py::type_error(
      fmt::format("DDL-4-82 A {} has no accessible memory. Pass a NumPy array, a tensor with "
                  "__dlpack__, or an object with the buffer protocol.",
                  py::str(py::type::of(object).attr("__name__")).cast<std::string>()));
}

}  // namespace tutti::python
