// Non-owning views of typed memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/core/dtype.h"

namespace tutti {

// A writable view of `count` elements of type `dtype`. The caller owns the memory and keeps it alive.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;  // elements
  DType dtype = DType::kF32;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * size_of(dtype); }
  // The `length` elements from `begin` on; the range is not checked.
  Buffer slice(std::int64_t begin, std::int64_t length) const {
    return {static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * size_of(dtype),
            length, dtype};
  }
  template <class T>
  static Buffer of(std::span<T> values) {
    return {values.data(), static_cast<std::int64_t>(values.size()), DTypeOf<T>::value};
  }
};

// The read-only counterpart of Buffer.
struct ConstBuffer {
  const void* data = nullptr;
  std::int64_t count = 0;  // elements
  DType dtype = DType::kF32;

  ConstBuffer() = default;
  ConstBuffer(const void* data_, std::int64_t count_, DType dtype_)
      : data(data_), count(count_), dtype(dtype_) {}
  ConstBuffer(const Buffer& buffer)  // NOLINT(google-explicit-constructor): a view of a view
      : data(buffer.data), count(buffer.count), dtype(buffer.dtype) {}
  std::size_t bytes() const { return static_cast<std::size_t>(count) * size_of(dtype); }
  template <class T>
  static ConstBuffer of(std::span<const T> values) {
    return {values.data(), static_cast<std::int64_t>(values.size()), DTypeOf<T>::value};
  }
};

}  // namespace tutti
