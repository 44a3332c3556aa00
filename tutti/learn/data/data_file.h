// Our own binary data files, in chunks of rows that can be found, shared out and streamed without
// reading the rest; docs/formats/data.md says every byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tutti/learn/data/data_set.h"
#include "tutti/learn/data/mapped_file.h"

namespace tutti::learn {

// What all chunks of a file have in common.
struct DataSchema {
  Form form = Form::kDense;  // kDense or kSparseRows
  DType dtype = DType::kF32;
  bool has_values = true;  // sparse only
  Implicit implicit = Implicit::kOne;
  bool has_labels = true, has_weights = false;
  std::int64_t columns = 0;
};

// Writes chunk by chunk. The file has its name only after `finish`; before, and if that is never
// called, there is none.
class DataFileWriter {
 public:
  // Throws IoError when the file cannot be made.
  DataFileWriter(std::filesystem::path path, const DataSchema& schema);
  ~DataFileWriter();
  DataFileWriter(const DataFileWriter&) = delete;
  DataFileWriter& operator=(const DataFileWriter&) = delete;

  // One chunk. Throws ConfigError when it does not fit the schema, IoError when it cannot be
  // written.
  void add(const DataSet& rows);
  void finish();

  struct Chunk {
    std::uint64_t offset, bytes, rows, entries, checksum;
  };

 private:
  void put(const void* data, std::size_t bytes, std::uint64_t& checksum);
  void align(std::size_t to);

  std::filesystem::path path_, unfinished_;
  DataSchema schema_;
  std::ofstream file_;
  std::uint64_t place_ = 0;
  std::vector<Chunk> chunks_;
};

// Reads them. Safe from several threads.
class DataFile {
 public:
  // Throws IoError that says what is wrong with the file. Reads header and index only.
  explicit DataFile(const std::filesystem::path& path);

  const DataSchema& schema() const { return schema_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t entries() const { return entries_; }
  std::int64_t chunks() const { return static_cast<std::int64_t>(index_.size()); }
  std::int64_t rows_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).rows);
  }
  // A view of the mapped file, which it keeps; labels and weights are copies. Checks the chunk's
  // checksum and its indices, and throws IoError when it is damaged.
  DataSet read(std::int64_t chunk) const;
  // Chunks [begin, end) as one, copied where there is more than one.
  DataSet read(std::int64_t begin, std::int64_t end) const;

 private:
  std::shared_ptr<MappedFile> file_;
  std::string name_;
  DataSchema schema_;
  std::int64_t rows_ = 0, entries_ = 0;
  std::vector<DataFileWriter::Chunk> index_;
};

// All of `data` in chunks of `chunk_rows`.
void write_data_file(const std::filesystem::path& path, const DataSet& data,
                     std::int64_t chunk_rows = 65536);

}  // namespace tutti::learn
