#include "tutti/learn/data/snap_file.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/sparse_storage.h"
#include "tutti/learn/data/mapped_file.h"
#include "tutti/os/atomic_file.h"

namespace tutti::learn {
namespace {

enum Kind : std::uint32_t { kDenseKind, kSparseKind, kImplicitKind };

// Reads values from the start of the remaining file.
class Cursor {
 public:
  Cursor(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  template <class T>
  T take() {
    T value;
    copy(&value, 1);
    return value;
  }
  template <class T>
  void copy(T* target, std::int64_t count) {
    if (count < 0 || static_cast<std::size_t>(count) > bytes_.size() / sizeof(T))
      fail(fmt::format("the file is truncated after {} bytes", taken_ + bytes_.size()));
    if (count == 0) return;  // memcpy requires non-null pointers even for 0 bytes
    std::memcpy(static_cast<void*>(target), bytes_.data(),
                static_cast<std::size_t>(count) * sizeof(T));
    bytes_.remove_prefix(static_cast<std::size_t>(count) * sizeof(T));
    taken_ += static_cast<std::size_t>(count) * sizeof(T);
  }
  std::size_t left() const { return bytes_.size(); }
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("DDL-9-03", fmt::format("{}: {}.", name_, what));
  }

 private:
  std::string_view bytes_;
  std::string name_;
  std::size_t taken_ = 0;
};

Matrix read_dense(Cursor& cursor, std::int64_t rows, std::int64_t columns, bool by_columns) {
  if (static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) >
      cursor.left() / sizeof(float))
    cursor.fail("the file is too short for its rows and columns");
  auto values = std::make_shared_for_overwrite<float[]>(static_cast<std::size_t>(rows * columns));
  cursor.copy(values.get(), rows * columns);
  Matrix matrix{.rows = rows, .columns = columns, .values = values.get()};
  matrix.row_stride = by_columns ? 1 : columns;
  matrix.column_stride = by_columns ? rows : 1;
  matrix.owner = values;
  return matrix;
}

Matrix read_sparse(Cursor& cursor, const std::vector<std::uint32_t>& counts, std::int64_t rows,
                   std::int64_t columns, bool by_columns, bool has_values) {
  auto storage = std::make_shared<SparseStorage>();
  storage->offsets = {0};
  for (const std::uint32_t count : counts)
    storage->offsets.push_back(storage->offsets.back() + count);
  const std::int64_t entries = storage->offsets.back();
  if (static_cast<std::size_t>(entries) > cursor.left() / sizeof(std::int32_t))
    cursor.fail("the file is too short for its entries");
  storage->indices.resize(entries);
  cursor.copy(storage->indices.data(), entries);
  if (has_values) {
    storage->values_f32.resize(entries);
    cursor.copy(storage->values_f32.data(), entries);
  }
  Matrix matrix{
      .storage = by_columns ? Storage::kCsc : Storage::kCsr, .rows = rows, .columns = columns};
  matrix.offsets = storage->offsets.data();
  matrix.indices = storage->indices.data();
  if (has_values) matrix.values = storage->values_f32.data();
  matrix.implicit = has_values ? Implicit::kOne : Implicit::kUnitNorm;
  matrix.owner = std::move(storage);
  return matrix;
}

class Writer {
 public:
  explicit Writer(const std::filesystem::path& path)
      : target_(path), file_(target_.draft(), std::ios::binary) {}

  template <class T>
  void put(const T* values, std::int64_t count) {
    file_.write(reinterpret_cast<const char*>(values),
                static_cast<std::streamsize>(sizeof(T)) * count);
  }
  template <class T>
  void put(T value) {
    put(&value, 1);
  }
  void finish() {
    file_.close();
    if (!file_ || target_.commit())
      throw IoError("DDL-9-02",
                    fmt::format("{}: cannot write the file. Check that the disk is not full.",
                                target_.target().string()));
  }

 private:
  os::AtomicFile target_;  // before the file, which is closed first
  std::ofstream file_;
};

std::uint32_t narrow(std::int64_t size) {
  if (size > std::numeric_limits<std::uint32_t>::max())
    throw ConfigError("DDL-9-01",
                      fmt::format("{} exceeds the 32-bit limits of the snap format.", size));
  return static_cast<std::uint32_t>(size);
}

float value_f32(const Matrix& m, std::int64_t line, std::int64_t i) {
  return m.dtype == DType::kF32 ? value_at<float>(m, line, i)
                                : static_cast<float>(value_at<double>(m, line, i));
}

float dense_f32(const Matrix& m, std::int64_t row, std::int64_t column) {
  const std::int64_t offset = row * m.row_stride + column * m.column_stride;
  return m.dtype == DType::kF32 ? static_cast<const float*>(m.values)[offset]
                                : static_cast<float>(static_cast<const double*>(m.values)[offset]);
}

}  // namespace

DataSet read_snap(const std::filesystem::path& path) {
  const MappedFile file(path);
  Cursor cursor(file.text(), path.string());
  const auto kind = cursor.take<std::uint32_t>();
  const auto by_columns = cursor.take<std::uint8_t>();
  const std::int64_t rows = cursor.take<std::uint32_t>(), columns = cursor.take<std::uint32_t>();
  if (kind > kImplicitKind || by_columns > 1) cursor.fail("not a file in the snap format");
  if (kind == kImplicitKind && by_columns == 1)
    cursor.fail("a CSC matrix without values is not supported");
  if (columns > std::numeric_limits<std::int32_t>::max())
    cursor.fail(fmt::format("it has {} columns; the limit is 2147483647", columns));
  const std::int64_t lines = by_columns == 1 ? columns : rows;
  if (static_cast<std::size_t>(lines + rows) >
      cursor.left() / sizeof(std::uint32_t) +
          static_cast<std::size_t>(kind == kDenseKind ? lines : 0))
    cursor.fail("the file is too short for its rows");
  std::vector<std::uint32_t> counts(kind == kDenseKind ? 0 : lines);
  cursor.copy(counts.data(), static_cast<std::int64_t>(counts.size()));
  std::vector<float> labels(rows);
  cursor.copy(labels.data(), rows);
  DataSet data;
  data.labels.assign(labels.begin(), labels.end());
  data.features = kind == kDenseKind ? read_dense(cursor, rows, columns, by_columns == 1)
                                     : read_sparse(cursor, counts, rows, columns, by_columns == 1,
                                                   kind == kSparseKind);
  if (cursor.left() > 0)
    cursor.fail(fmt::format("{} unexpected bytes follow the data", cursor.left()));
  try {
    Threads threads(1);
    check(data.features, threads);
  } catch (const ConfigError& error) {
    cursor.fail(error.what());
  }
  return data;
}

void write_snap(const std::filesystem::path& path, const DataSet& data) {
  check_lengths(data);
  const Matrix& m = data.features;
  const bool is_implicit =
      m.is_sparse() && m.values == nullptr && m.implicit == Implicit::kUnitNorm;
  const bool by_columns = m.storage == Storage::kCsc;
  const std::uint32_t kind = !m.is_sparse() ? kDenseKind
                             : is_implicit  ? kImplicitKind
                                            : kSparseKind;
  Writer writer(path);
  writer.put(kind);
  writer.put(static_cast<std::uint8_t>(by_columns));
  writer.put(narrow(m.rows));
  writer.put(narrow(m.columns));
  const std::int64_t lines = by_columns ? m.columns : m.rows;
  for (std::int64_t line = 0; m.is_sparse() && line < lines; ++line)
    writer.put(narrow(m.offsets[line + 1] - m.offsets[line]));
  for (std::int64_t row = 0; row < m.rows; ++row)
    writer.put(data.labels.empty() ? 0.0f : static_cast<float>(data.labels[row]));
  if (!m.is_sparse()) {
    for (std::int64_t row = 0; row < m.rows; ++row)
      for (std::int64_t column = 0; column < m.columns; ++column)
        writer.put(dense_f32(m, row, column));
  } else {
    writer.put(m.indices, m.entries());
    for (std::int64_t line = 0; !is_implicit && line < lines; ++line)
      for (std::int64_t i = m.offsets[line]; i < m.offsets[line + 1]; ++i)
        writer.put(value_f32(m, line, i));
  }
  writer.finish();
}

}  // namespace tutti::learn
