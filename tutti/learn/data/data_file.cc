#include "tutti/learn/data/data_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "tutti/core/error.h"
#include "tutti/io/read_pieces.h"
#include "tutti/learn/base/huge_pages.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/checksum.h"
#include "tutti/learn/data/internal/chunk_check.h"
#include "tutti/learn/data/internal/sparse_storage.h"

namespace tutti::learn {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr char kMagic[8] = {'T', 'U', 'T', 'T', 'I', 'D', 'A', 'T'};
// Files of version 1 have another chunk checksum; they can be read but are not written.
constexpr std::uint32_t kOldVersion = 1, kVersion = 2;
constexpr std::int64_t kChunkBytes = 8 << 20;
constexpr std::int64_t kRowsTogether = 256;  // block size of the learners
constexpr std::size_t kChunkAlignment = 4096, kArrayAlignment = 64;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint8_t storage, dtype, implicit, flags;  // flags: 1 values, 2 labels, 4 weights
  std::uint64_t rows, columns, entries, chunks, index_offset;
  std::uint64_t checksum;  // of all preceding fields
};
static_assert(sizeof(Header) == 64);

std::size_t aligned(std::size_t offset, std::size_t to) {
  return (offset + to - 1) / to * to;
}

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw IoError("DDL-9-03", fmt::format("{}: {}.", name, what));
}

// Offsets of the arrays from the start of a chunk; `end` is the size of the chunk.
struct ChunkLayout {
  std::size_t labels = 0, weights = 0, offsets = 0, indices = 0, values = 0, end = 0;
};

ChunkLayout chunk_layout(const DataSchema& schema, std::size_t rows, std::size_t entries) {
  ChunkLayout layout;
  const auto take = [&](std::size_t bytes) {
    const std::size_t start = layout.end;
    layout.end = aligned(start + bytes, kArrayAlignment);
    return start;
  };
  const bool is_sparse = schema.storage != Storage::kDense;
  layout.labels = take(schema.has_labels ? rows * 8 : 0);
  layout.weights = take(schema.has_weights ? rows * 8 : 0);
  layout.offsets = take(is_sparse ? (rows + 1) * 8 : 0);
  layout.indices = take(is_sparse ? entries * 4 : 0);
  layout.values = take(schema.has_values ? entries * size_of(schema.dtype) : 0);
  return layout;
}

DataSchema schema_of(const Header& header, const std::string& name) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) fail(name, "not a Tutti data file");
  if (header.version < kOldVersion || header.version > kVersion)
    fail(name, fmt::format("its format version is {}; this program reads versions up to {}",
                           header.version, kVersion));
  if (header.checksum != checksum_of(&header, sizeof(Header) - 8))
    fail(name, "its header is damaged");
  const auto dtype = static_cast<DType>(header.dtype);
  const bool is_known =
      header.storage <= 1 && header.implicit <= 1 && (dtype == DType::kF32 || dtype == DType::kF64);
  if (!is_known) fail(name, "its header is invalid");
  if (header.columns > std::numeric_limits<std::int32_t>::max())
    fail(name, fmt::format("it has {} columns; the limit is 2147483647", header.columns));
  return {.storage = static_cast<Storage>(header.storage),
          .dtype = dtype,
          .has_values = (header.flags & 1) != 0,
          .implicit = static_cast<Implicit>(header.implicit),
          .has_labels = (header.flags & 2) != 0,
          .has_weights = (header.flags & 4) != 0,
          .columns = static_cast<std::int64_t>(header.columns)};
}

}  // namespace

DataFileWriter::DataFileWriter(std::filesystem::path path, const DataSchema& schema)
    : target_(std::move(path)), schema_(schema) {
  if (schema_.storage == Storage::kCsc)
    throw ConfigError("DDL-9-01", "Data files store dense or CSR matrices, not CSC.");
  check_columns(schema_.columns);
  if (schema_.storage == Storage::kDense) schema_.has_values = true;
  file_.open(target_.draft(), std::ios::binary);
  if (!file_)
    throw IoError("DDL-9-02",
                  fmt::format("{}: cannot create the file.", target_.target().string()));
  align(kChunkAlignment);
}

void DataFileWriter::align(std::size_t to) {
  const std::vector<char> zeros(aligned(std::max<std::uint64_t>(offset_, 1), to) - offset_);
  file_.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
  offset_ += zeros.size();
}

void DataFileWriter::add(const DataSet& rows) {
  const Matrix m = to_storage(rows.features, schema_.storage);
  const bool has_values = m.values != nullptr || m.entries() == 0;
  if (m.dtype != schema_.dtype || m.columns != schema_.columns ||
      (m.is_sparse() && has_values != schema_.has_values && m.entries() > 0))
    throw ConfigError("DDL-9-01",
                      "The rows do not match the data file: storage, dtype, columns and implicit "
                      "values must be those of its schema.");
  const auto fits = [&](bool is_wanted, const std::vector<double>& values) {
    return !is_wanted || static_cast<std::int64_t>(values.size()) == m.rows;
  };
  if (!fits(schema_.has_labels, rows.labels) || !fits(schema_.has_weights, rows.weights))
    throw ConfigError("DDL-9-01",
                      "The rows do not match the data file: it needs one label (weight) per row.");
  const ChunkLayout layout = chunk_layout(schema_, static_cast<std::size_t>(m.rows),
                                          static_cast<std::size_t>(m.entries()));
  std::vector<std::byte> bytes(layout.end);  // padding is zero
  const auto put = [&](std::size_t offset, const void* from, std::size_t size) {
    if (size > 0) std::memcpy(bytes.data() + offset, from, size);
  };
  const std::size_t count = static_cast<std::size_t>(m.rows), size = size_of(schema_.dtype);
  const std::size_t entries = static_cast<std::size_t>(m.entries());
  put(layout.labels, rows.labels.data(), schema_.has_labels ? count * 8 : 0);
  put(layout.weights, rows.weights.data(), schema_.has_weights ? count * 8 : 0);
  put(layout.offsets, m.offsets, m.is_sparse() ? (count + 1) * 8 : 0);
  put(layout.indices, m.indices, m.is_sparse() ? entries * 4 : 0);
  const auto* values = static_cast<const std::byte*>(m.values);
  const std::size_t line = static_cast<std::size_t>(m.columns) * size;
  if (m.is_sparse() || m.row_stride == m.columns)
    put(layout.values, values, schema_.has_values ? entries * size : 0);
  else
    for (std::size_t row = 0; row < count; ++row)
      put(layout.values + row * line, values + static_cast<std::int64_t>(row * size) * m.row_stride,
          line);
  chunks_.push_back(
      {offset_, bytes.size(), count, entries, checksum_of_chunk(bytes.data(), bytes.size())});
  file_.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  offset_ += bytes.size();
  align(kChunkAlignment);
  if (!file_)
    throw IoError("DDL-9-02",
                  fmt::format("{}: cannot write the file. Check that the disk is not full.",
                              target_.target().string()));
}

void DataFileWriter::finish() {
  Header header{.magic = {},
                .version = kVersion,
                .storage = static_cast<std::uint8_t>(schema_.storage),
                .dtype = static_cast<std::uint8_t>(schema_.dtype),
                .implicit = static_cast<std::uint8_t>(schema_.implicit),
                .flags = static_cast<std::uint8_t>(schema_.has_values | schema_.has_labels << 1 |
                                                   schema_.has_weights << 2),
                .rows = 0,
                .columns = static_cast<std::uint64_t>(schema_.columns),
                .entries = 0,
                .chunks = chunks_.size(),
                .index_offset = offset_,
                .checksum = 0};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  for (const Chunk& chunk : chunks_) {
    header.rows += chunk.rows;
    header.entries += chunk.entries;
  }
  header.checksum = checksum_of(&header, sizeof(Header) - 8);
  const std::uint64_t index_checksum = checksum_of(chunks_.data(), chunks_.size() * sizeof(Chunk));
  file_.write(reinterpret_cast<const char*>(chunks_.data()),
              static_cast<std::streamsize>(chunks_.size() * sizeof(Chunk)));
  file_.write(reinterpret_cast<const char*>(&index_checksum), 8);
  file_.seekp(0);
  file_.write(reinterpret_cast<const char*>(&header), sizeof(Header));
  file_.close();
  if (!file_ || target_.commit())
    throw IoError("DDL-9-02",
                  fmt::format("{}: cannot write the file. Check that the disk is not full.",
                              target_.target().string()));
}

DataFile::DataFile(const std::filesystem::path& path)
    : file_(std::make_shared<MappedFile>(path)), name_(path.string()) {
  using Chunk = DataFileWriter::Chunk;
  Header header;
  if (file_->size() < kChunkAlignment) fail(name_, "the file is too short");
  std::memcpy(&header, file_->data(), sizeof(Header));
  schema_ = schema_of(header, name_);
  version_ = header.version;
  const std::size_t size = file_->size();
  if (header.index_offset > size - 8 ||
      header.chunks > (size - 8 - header.index_offset) / sizeof(Chunk))
    fail(name_, "the file is truncated: its index is incomplete");
  index_.resize(header.chunks);
  const std::size_t bytes = header.chunks * sizeof(Chunk);
  if (bytes > 0)  // memcpy requires non-null pointers even for 0 bytes
    std::memcpy(static_cast<void*>(index_.data()), file_->data() + header.index_offset, bytes);
  std::uint64_t expected = 0;
  std::memcpy(&expected, file_->data() + header.index_offset + bytes, 8);
  if (checksum_of(index_.data(), bytes) != expected) fail(name_, "its index is damaged");
  for (const Chunk& chunk : index_) {
    const bool is_inside = chunk.offset % kArrayAlignment == 0 && chunk.offset <= size &&
                           chunk.bytes <= size - chunk.offset && chunk.rows < size &&
                           chunk.entries <= size;
    const bool fits = is_inside &&
                      chunk_layout(schema_, chunk.rows, chunk.entries).end == chunk.bytes &&
                      (schema_.storage != Storage::kDense ||
                       chunk.entries == chunk.rows * static_cast<std::uint64_t>(schema_.columns));
    if (!fits) fail(name_, "its index is invalid");
    rows_ += static_cast<std::int64_t>(chunk.rows);
    entries_ += static_cast<std::int64_t>(chunk.entries);
  }
}

DataFile::DataFile(const std::filesystem::path& path, int part, int parts) : DataFile(path) {
  if (part < 0 || part >= parts)
    throw ConfigError("DDL-9-04", fmt::format("Part {} of {} does not exist.", part, parts));
  const auto first_chunk = [&](int index) {
    return index_.begin() + static_cast<std::ptrdiff_t>(chunks()) * index / parts;
  };
  index_ = std::vector(first_chunk(part), first_chunk(part + 1));
  rows_ = entries_ = 0;
  for (const DataFileWriter::Chunk& chunk : index_) {
    rows_ += static_cast<std::int64_t>(chunk.rows);
    entries_ += static_cast<std::int64_t>(chunk.entries);
  }
}

std::int64_t DataFile::features_at(std::int64_t number) const {
  const DataFileWriter::Chunk& chunk = index_.at(static_cast<std::size_t>(number));
  const ChunkLayout layout = chunk_layout(schema_, chunk.rows, chunk.entries);
  return static_cast<std::int64_t>(layout.offsets);
}

Matrix DataFile::view(std::int64_t number, const std::byte* start) const {
  const DataFileWriter::Chunk& chunk = index_.at(static_cast<std::size_t>(number));
  const ChunkLayout layout = chunk_layout(schema_, chunk.rows, chunk.entries);
  Matrix m{.storage = schema_.storage,
           .dtype = schema_.dtype,
           .rows = static_cast<std::int64_t>(chunk.rows),
           .columns = schema_.columns};
  m.implicit = schema_.implicit;
  m.row_stride = m.columns;
  if (schema_.has_values) m.values = start + layout.values;
  if (schema_.storage == Storage::kDense) return m;
  m.offsets = reinterpret_cast<const std::int64_t*>(start + layout.offsets);
  m.indices = reinterpret_cast<const std::int32_t*>(start + layout.indices);
  return m;
}

// Checksum of version 1: over the arrays without their padding.
std::uint64_t DataFile::old_checksum(std::int64_t number, const std::byte* start) const {
  const DataFileWriter::Chunk& chunk = index_.at(static_cast<std::size_t>(number));
  const ChunkLayout layout = chunk_layout(schema_, chunk.rows, chunk.entries);
  const bool is_sparse = schema_.storage != Storage::kDense;
  std::uint64_t sum = kChecksumStart;
  const auto add = [&](std::size_t offset, std::size_t bytes) {
    sum = checksum_of(start + offset, bytes, sum);
  };
  add(layout.labels, schema_.has_labels ? chunk.rows * 8 : 0);
  add(layout.weights, schema_.has_weights ? chunk.rows * 8 : 0);
  add(layout.offsets, is_sparse ? (chunk.rows + 1) * 8 : 0);
  add(layout.indices, is_sparse ? chunk.entries * 4 : 0);
  add(layout.values, schema_.has_values ? chunk.entries * size_of(schema_.dtype) : 0);
  return sum;
}

void DataFile::compare(std::int64_t number, const std::byte* start, std::uint64_t sum) const {
  const DataFileWriter::Chunk& chunk = index_.at(static_cast<std::size_t>(number));
  const Matrix m = view(number, start);
  const bool ends_well = schema_.storage == Storage::kDense ||
                         m.offsets[m.rows] == static_cast<std::int64_t>(chunk.entries);
  if (sum != chunk.checksum || !ends_well) fail(name_, fmt::format("chunk {} is damaged", number));
}

void DataFile::check_sum(std::int64_t number, const std::byte* start) const {
  const auto bytes = static_cast<std::size_t>(bytes_of(number));
  compare(number, start,
          version_ == kOldVersion ? old_checksum(number, start) : checksum_of_chunk(start, bytes));
}

bool DataFile::can_check_pieces() const {
  return version_ != kOldVersion && schema_.storage == Storage::kDense;
}

void DataFile::check_chunk(std::int64_t number, const std::byte* start, Threads& threads) const {
  if (version_ == kOldVersion) {
    check_sum(number, start);
    return check(view(number, start), threads);
  }
  ChunkCheck all(*this, number, start);
  threads.run(all.pieces(), [&](std::int64_t i) { ChunkCheck::Walk(all, i, i + 1).check_all(); });
  all.finish();
  if (schema_.storage != Storage::kDense) check(view(number, start), threads);
}

DataSet DataFile::read(std::int64_t number) const {
  const auto* start = reinterpret_cast<const std::byte*>(file_->data()) + offset_of(number);
  check_sum(number, start);
  DataSet data{.features = view(number, start), .labels = {}, .weights = {}};
  data.features.owner = file_;
  const std::size_t rows = static_cast<std::size_t>(data.features.rows);
  const ChunkLayout layout =
      chunk_layout(schema_, rows, static_cast<std::size_t>(data.features.entries()));
  const auto* labels = reinterpret_cast<const double*>(start + layout.labels);
  const auto* weights = reinterpret_cast<const double*>(start + layout.weights);
  if (schema_.has_labels) data.labels.assign(labels, labels + rows);
  if (schema_.has_weights) data.weights.assign(weights, weights + rows);
  return data;
}

std::vector<double> DataFile::per_row(bool is_there, bool are_weights) const {
  std::vector<double> all;
  if (!is_there) return all;
  reserve_large(all, static_cast<std::size_t>(rows_));
  std::vector<io::FilePiece> pieces;
  for (const DataFileWriter::Chunk& chunk : index_) {
    const ChunkLayout layout = chunk_layout(schema_, chunk.rows, chunk.entries);
    pieces.push_back({static_cast<std::int64_t>(chunk.offset) +
                          static_cast<std::int64_t>(are_weights ? layout.weights : layout.labels),
                      static_cast<std::int64_t>(chunk.rows) * 8});
  }
  io::read_pieces(name_, pieces, [&](std::span<const std::byte> bytes) {
    const auto* from = reinterpret_cast<const double*>(bytes.data());
    all.insert(all.end(), from, from + bytes.size() / 8);
  });
  return all;
}

std::vector<double> DataFile::labels() const {
  return per_row(schema_.has_labels, false);
}

std::vector<double> DataFile::weights() const {
  return per_row(schema_.has_weights, true);
}

DataSet DataFile::read(std::int64_t begin, std::int64_t end) const {
  if (end - begin == 1) return read(begin);
  DataSet all;
  auto storage = std::make_shared<SparseStorage>();
  std::shared_ptr<std::vector<std::byte>> values = std::make_shared<std::vector<std::byte>>();
  storage->offsets = {0};
  for (std::int64_t number = begin; number < end; ++number) {
    const DataSet part = read(number);
    const Matrix& m = part.features;
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
    all.weights.insert(all.weights.end(), part.weights.begin(), part.weights.end());
    const auto* from = static_cast<const std::byte*>(m.values);
    if (schema_.has_values)
      values->insert(values->end(), from,
                     from + static_cast<std::size_t>(m.entries()) * size_of(m.dtype));
    for (std::int64_t row = 1; m.is_sparse() && row <= m.rows; ++row)
      storage->offsets.push_back(static_cast<std::int64_t>(storage->indices.size()) +
                                 m.offsets[row]);
    if (m.is_sparse())
      storage->indices.insert(storage->indices.end(), m.indices, m.indices + m.entries());
    all.features.rows += m.rows;
  }
  Matrix& m = all.features;
  m.storage = schema_.storage;
  m.dtype = schema_.dtype;
  m.columns = m.row_stride = schema_.columns;
  m.implicit = schema_.implicit;
  m.offsets = storage->offsets.data();
  m.indices = storage->indices.data();
  if (schema_.has_values) m.values = values->data();
  storage->below = values;
  m.owner = storage;
  return all;
}

void write_data_file(const std::filesystem::path& path, const DataSet& data,
                     std::int64_t chunk_rows) {
  check_lengths(data);
  const Storage storage = data.features.is_sparse() ? Storage::kCsr : Storage::kDense;
  const Matrix m = to_storage(data.features, storage);
  if (chunk_rows <= 0) {
    const std::int64_t bytes = m.entries() * (m.is_sparse() ? 4 : 0) +
                               m.entries() * (m.values != nullptr ? size_of(m.dtype) : 0);
    const std::int64_t per_row = bytes / std::max<std::int64_t>(1, m.rows) + 16;
    chunk_rows = std::max<std::int64_t>(1, kChunkBytes / per_row / kRowsTogether) * kRowsTogether;
  }
  DataFileWriter writer(path, {.storage = storage,
                               .dtype = m.dtype,
                               .has_values = m.values != nullptr,
                               .implicit = m.implicit,
                               .has_labels = !data.labels.empty(),
                               .has_weights = !data.weights.empty(),
                               .columns = m.columns});
  const auto slice = [](const std::vector<double>& from, std::int64_t begin, std::int64_t end) {
    return from.empty() ? std::vector<double>()
                        : std::vector<double>(from.begin() + begin, from.begin() + end);
  };
  for (std::int64_t begin = 0; begin < m.rows; begin += chunk_rows) {
    const std::int64_t end = std::min(m.rows, begin + chunk_rows);
    writer.add({row_range(m, begin, end), slice(data.labels, begin, end),
                slice(data.weights, begin, end)});
  }
  writer.finish();
}

}  // namespace tutti::learn
