#include "tutti/models/vision/unet3d/nifti.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "tutti/core/error.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;

// The header is 348 bytes; these are the places of what is needed here.
constexpr std::size_t kHeader = 348, kDimensions = 40, kType = 70, kOffset = 108, kSlope = 112,
                      kIntercept = 116, kMagic = 344;
constexpr std::int64_t kMostVoxels = std::int64_t{1} << 30;

[[noreturn]] void refuse_file(const fs::path& file, const std::string& why) {
  throw IoError("DDL-7-65", fmt::format("{} {}.", file.string(), why));
}

template <class T>
T value_at(const char* bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes + place, sizeof value);
  return value;
}

// Packed or not: zlib reads both.
class PackedFile {
 public:
  explicit PackedFile(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) refuse_file(path, "cannot be opened");
  }
  void read(char* to, std::size_t bytes) {
    while (bytes > 0) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(bytes, 1 << 30));
      const int got = gzread(file_.get(), to, part);
      if (got <= 0) refuse_file(path_, "ends too early, or is damaged");
      to += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  fs::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

template <class T>
void as_floats(const std::vector<char>& bytes, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(value_at<T>(bytes.data(), i * sizeof(T)));
}

struct NumberType {
  int code;
  std::size_t bytes;
  void (*read)(const std::vector<char>&, std::vector<float>&);
};
constexpr NumberType kTypes[] = {
    {2, 1, as_floats<std::uint8_t>},    {4, 2, as_floats<std::int16_t>},
    {8, 4, as_floats<std::int32_t>},    {16, 4, as_floats<float>},
    {64, 8, as_floats<double>},         {256, 1, as_floats<std::int8_t>},
    {512, 2, as_floats<std::uint16_t>}, {768, 4, as_floats<std::uint32_t>}};

const NumberType& type_of(int code, const fs::path& file) {
  for (const NumberType& type : kTypes)
    if (type.code == code) return type;
  refuse_file(file, fmt::format("has numbers of type {}, which are not read here", code));
}

}  // namespace

Volume read_nifti(const fs::path& path) {
  PackedFile file(path);
  char header[kHeader];
  file.read(header, kHeader);
  if (value_at<std::int32_t>(header, 0) != int(kHeader) || std::memcmp(header + kMagic, "n+1", 4))
    refuse_file(path, "is not a NIfTI-1 file of this byte order with its data in the same file");
  Volume volume;
  std::int64_t voxels = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    volume.size[axis] = value_at<std::int16_t>(header, kDimensions + 2 + 2 * axis);
    if (volume.size[axis] < 1) refuse_file(path, "has no voxels");
    voxels *= volume.size[axis];
  }
  const auto offset = static_cast<std::int64_t>(value_at<float>(header, kOffset));
  if (voxels > kMostVoxels || offset < std::int64_t{kHeader} || offset > (1 << 28))
    refuse_file(path, "has a header that cannot be");
  std::vector<char> skipped(static_cast<std::size_t>(offset) - kHeader);
  file.read(skipped.data(), skipped.size());
  const NumberType& type = type_of(value_at<std::int16_t>(header, kType), path);
  std::vector<char> bytes(static_cast<std::size_t>(voxels) * type.bytes);
  file.read(bytes.data(), bytes.size());
  volume.values.resize(static_cast<std::size_t>(voxels));
  type.read(bytes, volume.values);
  const float slope = value_at<float>(header, kSlope),
              intercept = value_at<float>(header, kIntercept);
  if (slope != 0 && std::isfinite(slope) && std::isfinite(intercept))
    for (float& value : volume.values) value = slope * value + intercept;
  return volume;
}

}  // namespace tutti::models::unet3d
