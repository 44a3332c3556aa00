// Conversions shared by the extension modules of tutti.learn: matrices without copies, vectors, settings by name,
// exceptions.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/learn/data/matrix.h"

namespace tutti::learn {

using Doubles = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;
using Indices =
    pybind11::array_t<std::int32_t, pybind11::array::c_style | pybind11::array::forcecast>;
using Offsets =
    pybind11::array_t<std::int64_t, pybind11::array::c_style | pybind11::array::forcecast>;

// A matrix with the Python objects that own its memory.
struct OwnedMatrix {
  Matrix matrix;
  pybind11::object owners;
};

inline DType dtype_of(const pybind11::object& dtype) {
  const pybind11::dtype given = pybind11::dtype::from_args(dtype);
  if (given.kind() != 'f' || (given.itemsize() != 4 && given.itemsize() != 8)) {
    throw pybind11::type_error("values must be float32 or float64");
  }
  return given.itemsize() == 4 ? DType::kF32 : DType::kF64;
}

// Converts the indices of a sparse matrix with `count` columns (rows) to 32 bits. Throws if one is out of range;
// indices are never truncated.
inline Indices short_indices(const pybind11::array& given, std::int64_t count, const char* what) {
  check_columns(count, what);
  if (given.itemsize() > 4 && given.size() > 0 &&
      given.attr("max")().cast<std::int64_t>() >= std::max<std::int64_t>(1, count))
    throw pybind11::value_error("an index of the sparse matrix is outside of its shape");
  return given.cast<Indices>();
}

// Wraps the three arrays of a CSR ("csr") or CSC matrix; `values` may be None. The caller sets the dtype if there are
// no values.
inline OwnedMatrix sparse_matrix(const std::string& format, const pybind11::object& shape,
                                 const pybind11::object& offsets_given,
                                 const pybind11::array& indices_given,
                                 const pybind11::object& values) {
  const bool is_rows = format == "csr";
  OwnedMatrix held;
  Matrix& matrix = held.matrix;
  std::tie(matrix.rows, matrix.columns) = shape.cast<std::pair<std::int64_t, std::int64_t>>();
  const Indices indices = short_indices(indices_given, is_rows ? matrix.columns : matrix.rows,
                                        is_rows ? "columns" : "rows of a CSC matrix");
  const Offsets offsets = offsets_given.cast<Offsets>();
  held.owners = pybind11::make_tuple(offsets, indices, values);
  matrix.storage = is_rows ? Storage::kCsr : Storage::kCsc;
  matrix.offsets = offsets.data();
  matrix.indices = indices.data();
  if (!values.is_none()) matrix.values = values.cast<pybind11::array>().data();
  return held;
}

inline OwnedMatrix dense(const pybind11::array& values) {
  if (values.ndim() != 2) throw pybind11::value_error("a matrix has two dimensions");
  OwnedMatrix held{.matrix = {}, .owners = values};
  held.matrix.dtype = dtype_of(values.dtype());
  const auto size = static_cast<pybind11::ssize_t>(size_of(held.matrix.dtype));
  held.matrix.rows = values.shape(0);
  held.matrix.columns = values.shape(1);
  held.matrix.values = values.data();
  held.matrix.row_stride = values.strides(0) / size;
  held.matrix.column_stride = values.strides(1) / size;
  return held;
}

template <class T, int kFlags>
std::span<const T> span_of(const pybind11::array_t<T, kFlags>& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

// Translates an exception of this library to the matching Python exception.
inline void raise_in_python(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const ConfigError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const IoError& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  }
}

// Leaves `to` unchanged if the name is missing or None.
template <class T>
void take(const pybind11::dict& from, const char* name, T& to) {
  if (from.contains(name) && !from[name].is_none()) to = from[name].cast<T>();
}

}  // namespace tutti::learn
