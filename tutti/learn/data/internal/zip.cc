#include "tutti/learn/data/internal/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tutti/core/error.h"

namespace tutti::learn {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50, kFileMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::uint32_t kEnd64Mark = 0x06064b50, kLocator64Mark = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kFileBytes = 46, kLocalBytes = 30, kLocator64Bytes = 20;
constexpr std::uint64_t kElsewhere = 0xffffffff;  // the size is in an extra field of 64 bits

// Bytes with their bounds.
class Bytes {
 public:
  Bytes(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("DDL-9-03", fmt::format("{}: {}.", name_, what));
  }
  std::string_view range(std::uint64_t begin, std::uint64_t size) const {
    if (begin > bytes_.size() || size > bytes_.size() - begin)
      fail("it is cut off, or no zip file");
    return bytes_.substr(begin, size);
  }
  template <class T>
  T number(std::uint64_t place) const {
    T value;
    std::memcpy(&value, range(place, sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_, name_;
};

struct Entry {
  std::string name;
  std::uint64_t packed = 0, size = 0, place = 0;
  std::uint32_t checksum = 0;
  int method = 0;
};

struct Directory {
  std::uint64_t entries = 0, place = 0;
};

// It stands at the end, before a comment of at most 64 KiB.
Directory directory_of(const Bytes& bytes) {
  if (bytes.size() < kEndBytes) bytes.fail("it is too short for a zip file");
  const std::uint64_t last = bytes.size() - kEndBytes, first = last > 65535 ? last - 65535 : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (bytes.number<std::uint32_t>(at) != kEndMark) continue;
    Directory found{bytes.number<std::uint16_t>(at + 10), bytes.number<std::uint32_t>(at + 16)};
    const bool is_large = found.place == kElsewhere || found.entries == 0xffff;
    if (!is_large || at < kLocator64Bytes) return found;
    if (bytes.number<std::uint32_t>(at - kLocator64Bytes) != kLocator64Mark) return found;
    const auto end = bytes.number<std::uint64_t>(at - kLocator64Bytes + 8);
    if (bytes.number<std::uint32_t>(end) != kEnd64Mark) bytes.fail("its directory is damaged");
    return {bytes.number<std::uint64_t>(end + 32), bytes.number<std::uint64_t>(end + 48)};
  }
  bytes.fail("it is no zip file");
}

// Sizes and place from the extra field, in this order, those that had no room.
void read_large(const Bytes& bytes, std::uint64_t at, std::uint64_t end, Entry& entry) {
  while (at + 4 <= end) {
    const auto id = bytes.number<std::uint16_t>(at), size = bytes.number<std::uint16_t>(at + 2);
    std::uint64_t from = at + 4;
    at = from + size;
    if (id != 1) continue;
    for (std::uint64_t* value : {&entry.size, &entry.packed, &entry.place}) {
      if (*value != kElsewhere || from + 8 > at) continue;
      *value = bytes.number<std::uint64_t>(from);
      from += 8;
    }
  }
}

std::string unpack(const Bytes& bytes, const Entry& entry) {
  if (bytes.number<std::uint32_t>(entry.place) != kLocalMark)
    bytes.fail("its directory is damaged");
  const std::uint64_t start = entry.place + kLocalBytes +
                              bytes.number<std::uint16_t>(entry.place + 26) +
                              bytes.number<std::uint16_t>(entry.place + 28);
  const std::string_view packed = bytes.range(start, entry.packed);
  // Deflate makes nothing more than about a thousand times smaller.
  const bool is_possible = entry.method == 0   ? entry.size == entry.packed
                           : entry.method == 8 ? entry.size / 1100 <= entry.packed
                                               : false;
  if (!is_possible) bytes.fail(fmt::format("{} is packed in a way that is not read", entry.name));
  std::string content(entry.size, '\0');
  if (entry.method == 0) {
    std::copy(packed.begin(), packed.end(), content.begin());
  } else {
    z_stream stream = {};
    ::inflateInit2(&stream, -MAX_WBITS);
    std::uint64_t in = 0, out = 0;
    int state = Z_OK;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() / 2;
    while (state == Z_OK) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
      stream.avail_in = static_cast<uInt>(std::min(kMost, packed.size() - in));
      stream.next_out = reinterpret_cast<Bytef*>(content.data() + out);
      stream.avail_out = static_cast<uInt>(std::min(kMost, content.size() - out));
      const uInt had_in = stream.avail_in, had_out = stream.avail_out;
      state = ::inflate(&stream, Z_NO_FLUSH);
      in += had_in - stream.avail_in;
      out += had_out - stream.avail_out;
      if (had_in == stream.avail_in && had_out == stream.avail_out) break;
    }
    ::inflateEnd(&stream);
    if (state != Z_STREAM_END || out != entry.size) bytes.fail(entry.name + " is damaged");
  }
  const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (sum != entry.checksum) bytes.fail(entry.name + " is damaged");
  return content;
}

}  // namespace

std::map<std::string, std::string> unzip(std::string_view all, std::string_view name) {
  const Bytes bytes(all, name);
  const Directory directory = directory_of(bytes);
  std::map<std::string, std::string> files;
  std::uint64_t at = directory.place;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (bytes.number<std::uint32_t>(at) != kFileMark) bytes.fail("its directory is damaged");
    Entry entry;
    entry.method = bytes.number<std::uint16_t>(at + 10);
    entry.checksum = bytes.number<std::uint32_t>(at + 16);
    entry.packed = bytes.number<std::uint32_t>(at + 20);
    entry.size = bytes.number<std::uint32_t>(at + 24);
    const auto name_size = bytes.number<std::uint16_t>(at + 28);
    const auto extra_size = bytes.number<std::uint16_t>(at + 30);
    entry.place = bytes.number<std::uint32_t>(at + 42);
    entry.name = bytes.range(at + kFileBytes, name_size);
    const std::uint64_t extra = at + kFileBytes + name_size;
    read_large(bytes, extra, extra + extra_size, entry);
    files[entry.name] = unpack(bytes, entry);
    at = extra + extra_size + bytes.number<std::uint16_t>(at + 32);
  }
  return files;
}

}  // namespace tutti::learn
