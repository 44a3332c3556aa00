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

// Contiguous, aligned and in native byte order; arrays of any other layout or type are converted by a copy.
inline constexpr int kPlainLayout = pybind11::array::c_style | pybind11::array::forcecast |
                                    pybind11::detail::npy_api::NPY_ARRAY_ALIGNED_;
using Doubles = pybind11::array_t<double, kPlainLayout>;
using Floats = pybind11::array_t<float, kPlainLayout>;
using Indices = pybind11::array_t<std::int32_t, kPlainLayout>;
using Offsets = pybind11::array_t<std::int64_t, kPlainLayout>;

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

// Returns the array itself if it is plain, else a copy that is.
inline pybind11::array plain(const pybind11::array& values, DType dtype) {
  if (dtype == DType::kF32) return values.cast<Floats>();
  return values.cast<Doubles>();
}

// Converts the indices of a sparse matrix with `count` columns (rows) to 32 bits. Throws if one is out of range;
// indices are never truncated.
inline Indices short_indices(const pybind11::array& given, std::int64_t count, const char* what) {
  check_columns(count, what);
  const bool is_truncated =
      given.itemsize() > 4 || (given.itemsize() == 4 && given.dtype().kind() == 'u');
  if (is_truncated && given.size() > 0 &&
      (given.attr("max")().cast<std::int64_t>() >= std::max<std::int64_t>(1, count) ||
       given.attr("min")().cast<std::int64_t>() < 0))
    throw pybind11::value_error("an index of the sparse matrix is outside of its shape");
  return given.cast<Indices>();
}

// Throws unless the arrays are long enough for the offsets, which check_structure() examines further.
inline void check_sizes(std::int64_t lines, const Offsets& offsets, std::int64_t entries) {
  if (offsets.size() != lines + 1 || offsets.data()[lines] > entries)
    throw pybind11::value_error("the arrays of the sparse matrix do not match its shape");
}

// Wraps the three arrays of a CSR ("csr") or CSC matrix; `values` may be None. The caller sets the dtype if there are
// no values.
inline OwnedMatrix sparse_matrix(const std::string& format, const pybind11::object& shape,
                                 const pybind11::object& offsets_given,
                                 const pybind11::array& indices_given,
                                 const pybind11::object& values_given) {
  const bool is_rows = format == "csr";
  OwnedMatrix held;
  Matrix& matrix = held.matrix;
  std::tie(matrix.rows, matrix.columns) = shape.cast<std::pair<std::int64_t, std::int64_t>>();
  const Indices indices = short_indices(indices_given, is_rows ? matrix.columns : matrix.rows,
                                        is_rows ? "columns" : "rows of a CSC matrix");
  const Offsets offsets = offsets_given.cast<Offsets>();
  const std::int64_t lines = is_rows ? matrix.rows : matrix.columns;
  check_sizes(lines, offsets, indices.size());
  pybind11::object values = values_given;
  if (!values.is_none()) {
    const auto given = values.cast<pybind11::array>();
    matrix.dtype = dtype_of(given.dtype());
    check_sizes(lines, offsets, given.size());
    const pybind11::array held_values = plain(given, matrix.dtype);
    matrix.values = held_values.data();
    values = held_values;
  }
  held.owners = pybind11::make_tuple(offsets, indices, values);
  matrix.storage = is_rows ? Storage::kCsr : Storage::kCsc;
  matrix.offsets = offsets.data();
  matrix.indices = indices.data();
  return held;
}

// True if the elements can be read in place: aligned, in native byte order, strides that are multiples of their size.
inline bool is_addressable(const pybind11::array& values) {
  const auto size = values.itemsize();
  const bool is_native = values.dtype().attr("isnative").cast<bool>();
  const bool is_aligned = (values.flags() & pybind11::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
  return is_native && is_aligned && values.strides(0) % size == 0 && values.strides(1) % size == 0;
}

// Wraps a matrix without a copy if its elements can be read in place.
inline OwnedMatrix dense(const pybind11::array& given) {
  if (given.ndim() != 2) throw pybind11::value_error("a matrix has two dimensions");
  OwnedMatrix held;
  held.matrix.dtype = dtype_of(given.dtype());
  const pybind11::array values = is_addressable(given) ? given : plain(given, held.matrix.dtype);
  held.owners = values;
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
