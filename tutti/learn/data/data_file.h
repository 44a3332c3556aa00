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
#include "tutti/os/atomic_file.h"

namespace tutti::learn {

class Threads;

// What all chunks of a file have in common.
struct DataSchema {
  Storage storage = Storage::kDense;  // kDense or kCsr
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
  void align(std::size_t to);

  os::AtomicFile target_;
  DataSchema schema_;
  std::ofstream file_;
  std::uint64_t offset_ = 0;
  std::vector<Chunk> chunks_;
};

// Reads them. Safe from several threads.
class DataFile {
 public:
  // Throws IoError that says what is wrong with the file. Reads header and index only.
  explicit DataFile(const std::filesystem::path& path);
  // Only the chunks of one of `parts` even shares: all below is about these. For ranks.
  DataFile(const std::filesystem::path& path, int part, int parts);

  const std::string& name() const { return name_; }
  const DataSchema& schema() const { return schema_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t entries() const { return entries_; }
  std::int64_t chunks() const { return static_cast<std::int64_t>(index_.size()); }
  std::int64_t rows_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).rows);
  }
  // Where a chunk lies in the file; places are multiples of 4096.
  std::int64_t offset_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).offset);
  }
  std::int64_t bytes_of(std::int64_t chunk) const {
    return static_cast<std::int64_t>(index_.at(static_cast<std::size_t>(chunk)).bytes);
  }
  // Where features begin in the chunk's bytes, after labels and weights.
  std::int64_t features_at(std::int64_t chunk) const;
  // For those who read the bytes themselves: the features in the chunk's bytes at `start` (nothing
  // is checked and nothing kept), and all the checks, which throw as `read` and `check` do.
  Matrix view(std::int64_t chunk, const std::byte* start) const;
  void check_chunk(std::int64_t chunk, const std::byte* start, Threads& threads) const;
  // Whether a ChunkCheck (data/internal/chunk_check.h) does all that.
  bool can_check_pieces() const;

  // The chunk's bytes in the mapped file. What was looked at counts as memory of this process until
  // `drop_pages`.
  const std::byte* mapped(std::int64_t chunk) const {
    return reinterpret_cast<const std::byte*>(file_->data()) + offset_of(chunk);
  }
  // Starts reading bytes of the mapped file.
  void prefetch(const std::byte* from, std::int64_t bytes) const {
    file_->prefetch(static_cast<std::size_t>(reinterpret_cast<const char*>(from) - file_->data()),
                    static_cast<std::size_t>(bytes));
  }
  void drop_pages(std::int64_t chunk) const {
    file_->drop_pages(static_cast<std::size_t>(offset_of(chunk)),
                      static_cast<std::size_t>(bytes_of(chunk)));
  }

  // A view of the mapped file, which it keeps; labels and weights are copies. Checks the chunk's
  // checksum and its indices, and throws IoError when it is damaged.
  DataSet read(std::int64_t chunk) const;
  // Chunks [begin, end) as one, copied where there is more than one.
  DataSet read(std::int64_t begin, std::int64_t end) const;
  // Labels and weights of all rows, without touching the features; damage to them is found when
  // the chunk is checked.
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

// All of `data` in chunks of `chunk_rows`; 0: so many that a chunk has about 8 MiB.
void write_data_file(const std::filesystem::path& path, const DataSet& data,
                     std::int64_t chunk_rows = 0);

}  // namespace tutti::learn
