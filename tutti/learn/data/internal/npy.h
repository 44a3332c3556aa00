// Decoder of one array in the .npy format.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::learn {

struct NpyArray {
  char kind = 'f';  // f: floating point, i: signed integer, u: unsigned integer, S: bytes
  int size = 8;     // bytes per element
  bool by_columns = false;
  std::vector<std::int64_t> shape;
  std::string_view data;  // view of the bytes it was decoded from

  std::int64_t count() const;
  double at(std::int64_t index) const;
};

// Decodes little-endian numbers of 1 to 8 bytes, or strings. Throws IoError (DDL-9-03); the message contains `name`.
NpyArray read_npy_array(std::string_view bytes, std::string_view name);

// Throws IoError (DDL-9-03): `name` is the file, `what` the error.
[[noreturn]] void refuse_array(std::string_view name, const std::string& what);

}  // namespace tutti::learn
