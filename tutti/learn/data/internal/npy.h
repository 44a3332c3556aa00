// One array of NumPy in bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::learn {

struct NpyArray {
  char kind = 'f';  // f: floating, i: whole, u: whole without sign, S: text
  int size = 8;     // bytes of an element
  bool by_columns = false;
  std::vector<std::int64_t> shape;
  std::string_view data;  // inside of the bytes it was read from

  std::int64_t count() const;
  double at(std::int64_t index) const;
};

// Little-endian numbers of 1 to 8 bytes, or text. Throws IoError that names `name`.
NpyArray read_npy_array(std::string_view bytes, std::string_view name);

// Throws IoError (DDL-9-03): `name` is the file, `what` is wrong with it.
[[noreturn]] void refuse_array(std::string_view name, const std::string& what);

}  // namespace tutti::learn
