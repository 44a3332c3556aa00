// NumPy and zip files assembled in memory for tests.
#pragma once

#include <zlib.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::learn {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string npy_bytes(const std::string& type, const std::string& shape,
                             const std::string& data, bool by_columns = false) {
  std::string header = "{'descr': '" + type +
                       "', 'fortran_order': " + (by_columns ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

inline std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

inline std::string deflated(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream stream = {};
  ::deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

inline std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& files,
                             bool is_packed) {
  std::string all, directory;
  for (const auto& [name, content] : files) {
    const std::string packed = is_packed ? deflated(content) : content;
    const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                             static_cast<uInt>(content.size()));
    const std::string common = number(is_packed ? 8 : 0, 2) + number(0, 4) + number(sum, 4) +
                               number(packed.size(), 4) + number(content.size(), 4) +
                               number(name.size(), 2) + number(0, 2);
    directory += number(0x02014b50, 4) + number(20, 2) + number(20, 2) + number(0, 2) + common +
                 number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) + number(all.size(), 4) +
                 name;
    all += number(0x04034b50, 4) + number(20, 2) + number(0, 2) + common + name + packed;
  }
  const std::size_t directory_offset = all.size();
  return all + directory + number(0x06054b50, 4) + number(0, 4) + number(files.size(), 2) +
         number(files.size(), 2) + number(directory.size(), 4) + number(directory_offset, 4) +
         number(0, 2);
}

// A sparse 3 x 4 matrix with labels, as written by scipy.sparse.save_npz and numpy.savez.
inline std::string sparse_npz_bytes(bool is_packed) {
  return zip_bytes({{"format.npy", npy_bytes("|S3", "()", "csr")},
                    {"shape.npy", npy_bytes("<i8", "(2,)", bytes_of<std::int64_t>({3, 4}))},
                    {"data.npy", npy_bytes("<f4", "(4,)", bytes_of<float>({1, 2, 3, 4}))},
                    {"indices.npy", npy_bytes("<i4", "(4,)", bytes_of<std::int32_t>({0, 3, 1, 2}))},
                    {"indptr.npy", npy_bytes("<i4", "(4,)", bytes_of<std::int32_t>({0, 2, 2, 4}))},
                    {"y.npy", npy_bytes("<i8", "(3,)", bytes_of<std::int64_t>({1, -1, 1}))}},
                   is_packed);
}

}  // namespace tutti::learn
