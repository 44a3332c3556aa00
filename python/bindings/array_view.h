// Memory of Python objects without copies: buffer protocol (NumPy, bytes, memoryview), DLPack
// (torch and others), or a tuple (address, shape, type, owner). The type is a number of DType, or
// minus the bytes of an element that can only be moved.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/buffer.h"

namespace tutti::python {

// Elements one behind the other. Keeps the object, and what it lent, as long as it lives; needs the
// GIL to be copied or destroyed.
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
  // The same memory as bytes, for what only moves.
  Buffer bytes() const {
    return {data, count() * static_cast<std::int64_t>(item_bytes), DType::kU8};
  }
  // Elements where the type is known, else bytes.
  Buffer movable() const { return has_dtype ? elements() : bytes(); }
};

// Throws TypeError for objects that have no such memory, ValueError for memory with gaps or, when
// it is to be written, memory that must not be.
ArrayView view_of(const pybind11::handle& object, bool writable);

}  // namespace tutti::python
