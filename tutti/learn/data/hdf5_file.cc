#include "tutti/learn/data/hdf5_file.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/io/hdf5.h"
#include "tutti/learn/data/internal/sparse_storage.h"

namespace tutti::learn {
namespace {

using Handle = io::Hdf5Handle;

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : name_(path.string()),
        file_(::H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), ::H5Fclose) {
    if (!file_.is_valid())
      throw IoError("DDL-9-02", fmt::format("{}: cannot open the file as HDF5.", name_));
  }

  bool has(const std::string& key) const {
    return ::H5Lexists(file_, key.c_str(), H5P_DEFAULT) > 0;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw IoError("DDL-9-03", fmt::format("{}: data set '{}' {}.", name_, key, what));
  }
  // Returns the shape of a numeric HDF5 dataset; sets `is_single` if its elements are f32.
  std::vector<hsize_t> shape(const std::string& key, bool& is_single) const {
    const Handle set(::H5Dopen2(file_, key.c_str(), H5P_DEFAULT), ::H5Dclose);
    if (!set.is_valid()) fail(key, "is missing");
    const Handle space(::H5Dget_space(set), ::H5Sclose);
    const Handle type(::H5Dget_type(set), ::H5Tclose);
    const H5T_class_t kind = ::H5Tget_class(type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) fail(key, "is not numeric");
    is_single = kind == H5T_FLOAT && ::H5Tget_size(type) <= 4;
    std::vector<hsize_t> sizes(
        static_cast<std::size_t>(std::max(0, ::H5Sget_simple_extent_ndims(space))));
    ::H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    return sizes;
  }
  void read(const std::string& key, hid_t type, void* target) const {
    const Handle set(::H5Dopen2(file_, key.c_str(), H5P_DEFAULT), ::H5Dclose);
    if (::H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, target) < 0)
      fail(key, "cannot be read: it is damaged, or uses an unsupported compression filter");
  }
  std::vector<double> vector(const std::string& key, std::int64_t rows) const {
    if (!has(key)) return {};
    bool ignored = false;
    const std::vector<hsize_t> sizes = shape(key, ignored);
    hsize_t count = 1;
    for (const hsize_t size : sizes) count *= size;
    if (static_cast<std::int64_t>(count) != rows)
      fail(key, fmt::format("has {} numbers for {} rows", count, rows));
    std::vector<double> values(static_cast<std::size_t>(rows));
    if (rows > 0) read(key, H5T_NATIVE_DOUBLE, values.data());
    return values;
  }

 private:
  std::string name_;
  Handle file_;
};

}  // namespace

DataSet read_hdf5(const std::filesystem::path& path, const Hdf5Names& names) {
  const io::Hdf5Lock lock;
  const File file(path);
  if (!file.has(names.features)) file.fail(names.features, "is missing");
  bool is_single = false;
  const std::vector<hsize_t> sizes = file.shape(names.features, is_single);
  if (sizes.size() == 2 && sizes[1] > std::numeric_limits<std::int32_t>::max())
    file.fail(names.features, fmt::format("has {} columns; the limit is 2147483647", sizes[1]));
  if (sizes.size() != 2)
    file.fail(names.features, fmt::format("has {} dimensions; a matrix has 2", sizes.size()));
  DataSet data;
  auto storage = std::make_shared<SparseStorage>();
  Matrix& m = data.features;
  m.rows = static_cast<std::int64_t>(sizes[0]);
  m.columns = m.row_stride = static_cast<std::int64_t>(sizes[1]);
  m.dtype = is_single ? DType::kF32 : DType::kF64;
  if (is_single) {
    storage->values_f32.resize(m.entries());
    m.values = storage->values_f32.data();
    if (m.entries() > 0) file.read(names.features, H5T_NATIVE_FLOAT, storage->values_f32.data());
  } else {
    storage->values_f64.resize(m.entries());
    m.values = storage->values_f64.data();
    if (m.entries() > 0) file.read(names.features, H5T_NATIVE_DOUBLE, storage->values_f64.data());
  }
  m.owner = std::move(storage);
  data.labels = file.vector(names.labels, m.rows);
  data.weights = file.vector(names.weights, m.rows);
  return data;
}

}  // namespace tutti::learn
