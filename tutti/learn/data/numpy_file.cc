#include "tutti/learn/data/numpy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "tutti/core/error.h"
#include "tutti/io/zip.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/npy.h"
#include "tutti/learn/data/internal/sparse_storage.h"
#include "tutti/learn/data/mapped_file.h"

namespace tutti::learn {
namespace {

// Returns a view of the array if `owner` holds its memory and its layout is supported, otherwise a copy.
Matrix dense_of(const NpyArray& array, const std::shared_ptr<const void>& owner,
                std::string_view name) {
  if (array.shape.size() != 2 || array.kind == 'S')
    refuse_array(name,
                 fmt::format("an array of {} dimensions is not a matrix", array.shape.size()));
  Matrix m{.rows = array.shape[0], .columns = array.shape[1]};
  if (m.columns > std::numeric_limits<std::int32_t>::max())
    refuse_array(name, fmt::format("it has {} columns; the limit is 2147483647", m.columns));
  m.row_stride = array.by_columns ? 1 : m.columns;
  m.column_stride = array.by_columns ? m.rows : 1;
  m.dtype = array.kind == 'f' && array.size == 4 ? DType::kF32 : DType::kF64;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(array.data.data()) %
                              static_cast<std::uintptr_t>(array.size) ==
                          0;
  if (owner != nullptr && array.kind == 'f' && is_aligned) {
    m.values = array.data.data();
    m.owner = owner;
    return m;
  }
  auto storage = std::make_shared<SparseStorage>();
  if (m.dtype == DType::kF32) storage->values_f32.resize(array.count());
  if (m.dtype == DType::kF64) storage->values_f64.resize(array.count());
  for (std::int64_t i = 0; i < array.count(); ++i) {
    if (m.dtype == DType::kF32) {
      storage->values_f32[i] = static_cast<float>(array.at(i));
    } else {
      storage->values_f64[i] = array.at(i);
    }
  }
  m.values = m.dtype == DType::kF32 ? static_cast<const void*>(storage->values_f32.data())
                                    : storage->values_f64.data();
  m.owner = std::move(storage);
  return m;
}

// Arrays of an .npz file by name.
class Arrays {
 public:
  Arrays(std::string_view bytes, std::string_view name)
      : files_(io::unzip(bytes, name)), name_(name) {}

  bool has(const std::string& key) const { return files_.contains(key + ".npy"); }
  NpyArray get(const std::string& key) const {
    if (!has(key)) refuse_array(name_, fmt::format("it has no array '{}'", key));
    return read_npy_array(files_.at(key + ".npy"), fmt::format("{}: {}.npy", name_, key));
  }
  std::vector<double> vector(const std::string& key) const {
    std::vector<double> values;
    if (!has(key)) return values;
    const NpyArray array = get(key);
    if (array.kind == 'S') refuse_array(name_, fmt::format("'{}' is not numeric", key));
    values.resize(array.count());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = array.at(static_cast<std::int64_t>(i));
    return values;
  }
  // Integers in [0, most].
  template <class T>
  std::vector<T> indices(const std::string& key, std::int64_t most) const {
    const NpyArray array = get(key);
    if (array.kind != 'i' && array.kind != 'u')
      refuse_array(name_, fmt::format("'{}' does not contain integers", key));
    std::vector<T> values(static_cast<std::size_t>(array.count()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = array.at(static_cast<std::int64_t>(i));
      if (!(value >= 0 && value <= static_cast<double>(most)))
        refuse_array(name_, fmt::format("'{}' has {} at {}, outside of the matrix", key, value, i));
      values[i] = static_cast<T>(value);
    }
    return values;
  }

 private:
  std::map<std::string, std::string> files_;
  std::string name_;
};

Matrix sparse_of(const Arrays& arrays, std::string_view name) {
  const NpyArray kind = arrays.get("format"), values = arrays.get("data");
  const bool by_rows = kind.kind == 'S' && kind.data.starts_with("csr");
  if (!by_rows && !(kind.kind == 'S' && kind.data.starts_with("csc")))
    refuse_array(name, "a sparse matrix must be CSR or CSC");
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const auto shape = arrays.indices<std::int64_t>("shape", std::int64_t{1} << 50);
  if (shape.size() != 2) refuse_array(name, "its shape is invalid");
  if (shape[by_rows ? 1 : 0] > kMax)
    refuse_array(
        name, fmt::format(
                  "it has {} {}; the limit is {}. Renumber those that occur, or hash them to fewer",
                  shape[by_rows ? 1 : 0], by_rows ? "columns" : "rows", kMax));
  auto storage = std::make_shared<SparseStorage>();
  Matrix m{.storage = by_rows ? Storage::kCsr : Storage::kCsc,
           .dtype = values.kind == 'f' && values.size == 4 ? DType::kF32 : DType::kF64,
           .rows = shape[0],
           .columns = shape[1]};
  storage->offsets = arrays.indices<std::int64_t>("indptr", values.count());
  storage->indices = arrays.indices<std::int32_t>(
      "indices", std::max<std::int64_t>(0, shape[by_rows ? 1 : 0] - 1));
  const auto lines = static_cast<std::size_t>(shape[by_rows ? 0 : 1]);
  if (values.kind == 'S' || storage->offsets.size() != lines + 1 || storage->offsets[0] != 0 ||
      !std::is_sorted(storage->offsets.begin(), storage->offsets.end()) ||
      storage->offsets.back() != values.count() ||
      static_cast<std::int64_t>(storage->indices.size()) != values.count())
    refuse_array(name, "its arrays do not form a sparse matrix");
  for (std::int64_t i = 0; i < values.count(); ++i) {
    if (m.dtype == DType::kF32) {
      storage->values_f32.push_back(static_cast<float>(values.at(i)));
    } else {
      storage->values_f64.push_back(values.at(i));
    }
  }
  m.values = m.dtype == DType::kF32 ? static_cast<const void*>(storage->values_f32.data())
                                    : storage->values_f64.data();
  m.offsets = storage->offsets.data();
  m.indices = storage->indices.data();
  m.owner = std::move(storage);
  return m;
}

}  // namespace

DataSet read_npy(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(path);
  const NpyArray array = read_npy_array(file->text(), path.string());
  return {.features = dense_of(array, file, path.string()), .labels = {}, .weights = {}};
}

DataSet parse_npy(std::string_view bytes, std::string_view name) {
  return {.features = dense_of(read_npy_array(bytes, name), nullptr, name),
          .labels = {},
          .weights = {}};
}

DataSet parse_npz(std::string_view bytes, std::string_view name) {
  const Arrays arrays(bytes, name);
  DataSet data;
  data.features =
      arrays.has("X") ? dense_of(arrays.get("X"), nullptr, name) : sparse_of(arrays, name);
  data.labels = arrays.vector("y");
  data.weights = arrays.vector("sample_weight");
  for (const auto* vector : {&data.labels, &data.weights})
    if (!vector->empty() && static_cast<std::int64_t>(vector->size()) != data.features.rows)
      refuse_array(name, fmt::format("it has {} rows, but {} labels or weights", data.features.rows,
                                     vector->size()));
  return data;
}

DataSet read_npz(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_npz(file.text(), path.string());
}

}  // namespace tutti::learn
