// Binary data files in the native format: chunks of rows that can be located, distributed over ranks and streamed
// independently. docs/formats/data.md specifies the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tutti/learn/data/data_set.h"
#include "tutti/learn/data/mapped_file.h"
#include "tutti/os/atomic_file.h"

namespace tutti::learn {

class Threads;

// Properties shared by all chunks of a file.
struct DataSchema {
  Storage storage = Storage::kDense;  // kDense or kCsr
  DType dtype = DType::kF32;
  bool has_values = true;  // sparse only; false: see `implicit`
  Implicit implicit = Implicit::kOne;
  bool has_labels = true, has_weights = false;
  std::int64_t columns = 0;
};

// Writes a file chunk by chunk. The file appears under its name when `finish` is called, and never without it.
class DataFileWriter {
 public:
  // Throws IoError if the file cannot be created.
  DataFileWriter(std::filesystem::path path, const DataSchema& schema);
  DataFileWriter(const DataFileWriter&) = delete;
  DataFileWriter& operator=(const DataFileWriter&) = delete;

  // Writes one chunk. Throws ConfigError if it does not match the schema, IoError if it cannot be written.
  void add(const DataSet& rows);
  // Writes the index and gives the file its name. Throws IoError if it cannot be written.
  void finish();

  struct Chunk {
    std::uint64_t offset, bytes, rows, entries, checksum;
  };

 private:
  void align(std::size_t to);

  os::AtomicFile target_;
  DataSchema schema_;
  std::ofstream file_;
  std::uint64_t offset_ = 0;
  std::vector<Chunk> chunks_;
};

// Reader of data files. Thread-safe.
class DataFile {
 public:
  // Reads header and index only. Throws IoError, which describes the error.
  explicit DataFile(const std::filesystem::path& path);
  // Opens one of `parts` contiguous, equal ranges of chunks, for example one per rank. All members refer to these
  // chunks.
  DataFile(const std::filesystem::path& path, int part, int parts);

  const std::string& name() const { return name_; }
  const DataSchema& schema() const { return schema_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t entries() const { return entries_; }
  std::int64_t chunks() const { return static_cast<std::int64_t>(index_.size()); }
  std::int64_t rows_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).rows);
  }
  // Offset of a chunk in the file, a multiple of 4096.
  std::int64_t offset_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).offset);
  }
  std::int64_t bytes_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).bytes);
  }
  // Offset of the features in a chunk, after labels and weights.
  std::int64_t features_at(std::int64_t chunk) const;
  // For callers that read the bytes themselves: the features in the bytes of a chunk at `start`, unchecked and not
  // owned; and all checks, which throw as `read` and `check` do.
  Matrix view(std::int64_t chunk, const std::byte* start) const;
  void check_chunk(std::int64_t chunk, const std::byte* start, Threads& threads) const;
  // Whether ChunkCheck (data/internal/chunk_check.h) can perform these checks.
  bool can_check_pieces() const;

  // Bytes of a chunk in the mapped file. Pages that were accessed count as resident memory of this process until
  // `drop_pages`.
  const std::byte* mapped(std::int64_t chunk) const {
    return reinterpret_cast<const std::byte*>(file_->data()) + offset_of(chunk);
  }
  // Starts reading bytes of the mapped file in the background (MADV_WILLNEED).
  void prefetch(const std::byte* from, std::int64_t bytes) const {
    file_->prefetch(static_cast<std::size_t>(reinterpret_cast<const char*>(from) - file_->data()),
                    static_cast<std::size_t>(bytes));
  }
  void drop_pages(std::int64_t chunk) const {
    file_->drop_pages(static_cast<std::size_t>(offset_of(chunk)),
                      static_cast<std::size_t>(bytes_of(chunk)));
  }

  // Returns a view that shares ownership of the mapped file; labels and weights are copied. Verifies checksum and
  // indices, and throws IoError if the chunk is damaged.
  DataSet read(std::int64_t chunk) const;
  // Returns the chunks [begin, end) as one data set. Copies if there is more than one.
  DataSet read(std::int64_t begin, std::int64_t end) const;
  // Labels or weights of all rows, without reading the features. They are verified together with the chunk.
  std::vector<double> labels() const;
  std::vector<double> weights() const;

 private:
  friend class ChunkCheck;
  void check_sum(std::int64_t chunk, const std::byte* start) const;
  void compare(std::int64_t chunk, const std::byte* start, std::uint64_t sum) const;
  std::uint64_t old_checksum(std::int64_t chunk, const std::byte* start) const;
  std::vector<double> per_row(bool is_there, bool are_weights) const;

  std::shared_ptr<MappedFile> file_;
  std::string name_;
  DataSchema schema_;
  std::uint32_t version_ = 0;
  std::int64_t rows_ = 0, entries_ = 0;
  std::vector<DataFileWriter::Chunk> index_;
};

// Writes `data` in chunks of `chunk_rows` rows; 0: chunks of about 8 MiB. Throws as DataFileWriter; an existing file is
// then unchanged.
void write_data_file(const std::filesystem::path& path, const DataSet& data,
                     std::int64_t chunk_rows = 0);

}  // namespace tutti::learn
