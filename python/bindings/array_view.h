// Views of the memory of Python objects, without copies: buffer protocol (NumPy, bytes, memoryview), DLPack (torch and
// others), or a tuple (address, shape, type, owner). The type is a number of DType, or minus the element size in bytes
// for types that can only be moved.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/buffer.h"

namespace tutti::python {

// Contiguous elements. Keeps the object and its exported buffer alive. Copying and destroying require the GIL.
struct ArrayView {
  void* data = nullptr;
  std::vector<std::int64_t> shape;
  std::size_t item_bytes = 1;
  bool has_dtype = false;  // false: a type that can be moved but not reduced
  DType dtype = DType::kU8;
  pybind11::object owner;

  std::int64_t count() const;
  // Throws TypeError for types that cannot be reduced.
  Buffer elements() const;
  // The same memory as bytes, for operations that only move data.
  Buffer bytes() const {
    return {data, count() * static_cast<std::int64_t>(item_bytes), DType::kU8};
  }
  // Elements if the type is known, otherwise bytes.
  Buffer movable() const { return has_dtype ? elements() : bytes(); }
};

// Throws TypeError for objects without such memory, and ValueError for memory that is not contiguous or, if `writable`,
// read-only.
ArrayView view_of(const pybind11::handle& object, bool writable);

}  // namespace tutti::python
