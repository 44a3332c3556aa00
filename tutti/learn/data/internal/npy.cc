#include "tutti/learn/data/internal/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "tutti/core/error.h"

namespace tutti::learn {

void refuse_array(std::string_view name, const std::string& what) {
  throw IoError("DDL-9-03", fmt::format("{}: {}.", name, what));
}

namespace {

// Returns the text after 'key': in the Python dictionary of the header.
std::string_view value_of(std::string_view header, std::string_view key, std::string_view name) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) refuse_array(name, fmt::format("its header has no '{}'", key));
  std::string_view rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::vector<std::int64_t> shape_of(std::string_view text, std::string_view name) {
  std::vector<std::int64_t> shape;
  if (text.empty() || text.front() != '(') refuse_array(name, "its header has no shape");
  const char *at = text.data() + 1, *end = text.data() + text.size();
  while (at < end && *at != ')') {
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0) refuse_array(name, "its shape is not a list of sizes");
    shape.push_back(size);
    for (at = stop; at < end && (*at == ',' || *at == ' '); ++at) {
    }
  }
  if (at == end) refuse_array(name, "its shape is not terminated");
  return shape;
}

template <class T>
double number_at(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

std::int64_t NpyArray::count() const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t one : shape) product *= one;
  return product;
}

double NpyArray::at(std::int64_t index) const {
  const char* from = data.data() + index * size;
  if (kind == 'f') return size == 4 ? number_at<float>(from) : number_at<double>(from);
  const bool has_sign = kind == 'i';
  switch (size) {
    case 1: return has_sign ? number_at<std::int8_t>(from) : number_at<std::uint8_t>(from);
    case 2: return has_sign ? number_at<std::int16_t>(from) : number_at<std::uint16_t>(from);
    case 4: return has_sign ? number_at<std::int32_t>(from) : number_at<std::uint32_t>(from);
    default: return has_sign ? number_at<std::int64_t>(from) : number_at<std::uint64_t>(from);
  }
}

NpyArray read_npy_array(std::string_view bytes, std::string_view name) {
  constexpr std::string_view kNpyMagic("\x93NUMPY", 6);
  if (bytes.size() < 12 || !bytes.starts_with(kNpyMagic)) refuse_array(name, "not a NumPy array");
  const int version = bytes[6];
  std::size_t length = 0, start = version == 1 ? 10 : 12;
  std::memcpy(&length, bytes.data() + 8, version == 1 ? 2 : 4);
  if (version < 1 || version > 3)
    refuse_array(name, fmt::format("its format version {} is not supported", version));
  if (length > bytes.size() - start) refuse_array(name, "the file is truncated in its header");
  const std::string_view header = bytes.substr(start, length);
  NpyArray array;
  const std::string_view type = value_of(header, "descr", name);
  // The type string is byte order, kind and size, as in '<f4'.
  const std::size_t end = type.size() < 4 ? 0 : type.find(type.front(), 1);
  const bool is_text = end != std::string_view::npos && end >= 4;
  const char order = is_text ? type[1] : '>';
  array.kind = is_text ? (type[2] == 'b' ? 'u' : type[2]) : '?';
  array.size = 0;
  if (is_text) std::from_chars(type.data() + 3, type.data() + end, array.size);
  const bool is_whole = (array.kind == 'i' || array.kind == 'u') &&
                        (array.size == 1 || array.size == 2 || array.size == 4 || array.size == 8);
  const bool is_known = is_whole || (array.kind == 'f' && (array.size == 4 || array.size == 8)) ||
                        (array.kind == 'S' && array.size > 0 && array.size < 1024);
  if (order == '>' || !is_known)
    refuse_array(name, fmt::format("elements of type {} are not supported; supported are "
                                   "little-endian f4, f8 and integers",
                                   type.substr(0, is_text ? end + 1 : 0)));
  array.by_columns = value_of(header, "fortran_order", name).starts_with("True");
  array.shape = shape_of(value_of(header, "shape", name), name);
  array.data = bytes.substr(start + length);
  std::int64_t room = static_cast<std::int64_t>(array.data.size()) / array.size;
  for (const std::int64_t one : array.shape) room = one == 0 ? room : room / one;
  const bool is_empty = std::count(array.shape.begin(), array.shape.end(), 0) > 0;
  if (!is_empty && room < 1) refuse_array(name, "the file is truncated before its last element");
  return array;
}

}  // namespace tutti::learn
