#include "tutti/models/vision/unet3d/nifti.h"

#include <fmt/format.h>
#include <nifti2_io.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tutti/core/error.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostVoxels = std::int64_t{1} << 30;

[[noreturn]] void refuse_file(const fs::path& file, const std::string& why) {
  throw IoError("DDL-7-65", fmt::format("{} {}.", file.string(), why));
}

struct Free {
  void operator()(nifti_image* header) const { nifti_image_free(header); }
  void operator()(znzFile file) const { Xznzclose(&file); }
};
using Header = std::unique_ptr<nifti_image, Free>;

Header read_header(const fs::path& path) {
  [[maybe_unused]] static const bool is_silent = (nifti_set_debug_level(0), true);
  if (!fs::is_regular_file(path)) refuse_file(path, "cannot be opened");
  // Without is_nifti_file, a damaged magic number would be read as Analyze 7.5.
  Header header(is_nifti_file(path.c_str()) == 1 ? nifti_image_read(path.c_str(), 0) : nullptr);
  if (!header)
    refuse_file(path,
                "is not a NIfTI file with its data in the same file, or its header is damaged");
  if (std::min({header->nx, header->ny, header->nz}) < 1) refuse_file(path, "has no voxels");
  if (std::max({header->nx, header->ny, header->nz}) > kMostVoxels ||
      double(header->nx) * double(header->ny) * double(header->nz) > double(kMostVoxels))
    refuse_file(path, fmt::format("has {} x {} x {} voxels; at most {} are read", header->nx,
                                  header->ny, header->nz, kMostVoxels));
  return header;
}

// The values as stored. nifti_image_load is not used: it reads all volumes of a series, and silently replaces NaN by 0.
std::vector<char> read_bytes(const nifti_image& header, std::int64_t voxels, const fs::path& path) {
  const std::unique_ptr<znzptr, Free> file(
      znzopen(path.c_str(), "rb", nifti_is_gzfile(path.c_str())));
  if (!file) refuse_file(path, "cannot be opened");
  std::vector<char> bytes(static_cast<std::size_t>(voxels * header.nbyper));
  if (znzseek(file.get(), header.iname_offset, SEEK_SET) < 0 ||
      znzread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    refuse_file(path, "ends too early, or is damaged");
  if (header.swapsize > 1 && header.byteorder != nifti_short_order())
    nifti_swap_Nbytes(voxels * header.nbyper / header.swapsize, header.swapsize, bytes.data());
  return bytes;
}

template <class T>
void as_floats(const std::vector<char>& bytes, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(value);
  }
}

struct NumberType {
  int code;
  void (*read)(const std::vector<char>&, std::vector<float>&);
};
constexpr NumberType kTypes[] = {
    {DT_UINT8, as_floats<std::uint8_t>},   {DT_INT16, as_floats<std::int16_t>},
    {DT_INT32, as_floats<std::int32_t>},   {DT_FLOAT32, as_floats<float>},
    {DT_FLOAT64, as_floats<double>},       {DT_INT8, as_floats<std::int8_t>},
    {DT_UINT16, as_floats<std::uint16_t>}, {DT_UINT32, as_floats<std::uint32_t>}};

}  // namespace

Volume read_nifti(const fs::path& path) {
  const Header header = read_header(path);
  const auto* type = std::ranges::find(kTypes, header->datatype, &NumberType::code);
  if (type == std::end(kTypes))
    refuse_file(path, fmt::format("has data type {}, which is not supported", header->datatype));
  const std::int64_t voxels = header->nx * header->ny * header->nz;
  Volume volume{{int(header->nx), int(header->ny), int(header->nz)},
                std::vector<float>(static_cast<std::size_t>(voxels))};
  type->read(read_bytes(*header, voxels, path), volume.values);
  const auto slope = static_cast<float>(header->scl_slope),
             intercept = static_cast<float>(header->scl_inter);
  if (slope != 0)  // libnifti reads factors that are not finite as 0
    for (float& value : volume.values) value = slope * value + intercept;
  const auto bad = std::ranges::find_if(volume.values, [](float v) { return !std::isfinite(v); });
  if (bad != volume.values.end()) {
    const std::int64_t index = bad - volume.values.begin();
    refuse_file(path, fmt::format("has the value {} at voxel ({}, {}, {}), counted from 0", *bad,
                                  index % header->nx, index / header->nx % header->ny,
                                  index / header->nx / header->ny));
  }
  return volume;
}

}  // namespace tutti::models::unet3d
