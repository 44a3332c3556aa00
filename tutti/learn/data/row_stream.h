// Repeated passes over the rows of a data file that is larger than memory.
//
// As many chunks as fit stay resident for the whole fit. The resident chunks are always the same: an LRU cache would
// evict every chunk before its next use. They are evenly spaced in the file, so the disk reads while they are
// processed, and they are a fair sample of the rows. All other chunks pass through a few rotating buffers. Reads are
// issued ahead of use and continue across passes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tutti/io/read_queue.h"
#include "tutti/learn/data/data_file.h"

namespace tutti::learn {

class HugePages;

// Used by one caller at a time.
class RowStream {
 public:
  // `bytes` is the memory for chunks. Throws ConfigError if fewer than three chunks fit.
  RowStream(std::shared_ptr<const DataFile> file, std::int64_t bytes,
            io::ReadQueue::Engine engine = io::ReadQueue::Engine::kAuto);
  ~RowStream();

  const DataFile& file() const { return *file_; }
  bool is_resident(std::int64_t chunk) const {
    return (chunk + 1) * residents_ / file_->chunks() > chunk * residents_ / file_->chunks();
  }
  std::int64_t residents() const { return residents_; }
  std::int64_t chunks_read() const { return chunks_read_; }
  std::int64_t bytes_read() const { return bytes_read_; }
  std::string_view engine() const { return queue_->name(); }

  using Body = std::function<void(const Matrix& rows, std::int64_t first)>;
  // Visits each chunk once, in order. body(rows, first) receives the features of a chunk, valid until it returns;
  // `first` is the index of its first row in the file. A chunk is verified on first arrival: throws IoError if it is
  // damaged, ConfigError if a value is not finite.
  void for_chunks(Threads& threads, const Body& body);
  // Visits only the resident chunks, in order. There is at least one.
  void for_residents(Threads& threads, const Body& body);
  // Visits only the other chunks among [begin, end).
  void for_others(Threads& threads, std::int64_t begin, std::int64_t end, const Body& body);

  struct Partition {
    std::int64_t parts, block_rows;
  };
  using PartBody = std::function<void(std::int64_t part, const Matrix& rows, std::int64_t first,
                                      std::int64_t begin, std::int64_t end)>;
  // Visits an ascending list of dense chunks with all threads, without a barrier after each chunk. The blocks of
  // `block_rows` rows of a chunk are divided into `parts` contiguous ranges. body(part, rows, first, begin, end)
  // receives the rows [begin, end) of a chunk; calls of one part are sequential and in order. A call may see rows of a
  // chunk that later proves to be damaged; the pass then throws.
  void for_parts(Threads& threads, const std::vector<std::int64_t>& chunks,
                 const Partition& partition, const PartBody& body);

  // Sets a function that is called for every chunk, on the calling thread of the pass. An exception ends the pass; the
  // next pass is complete again.
  void set_on_chunk(std::function<void()> on_chunk) { on_chunk_ = std::move(on_chunk); }

  // Renumbers the columns: column j becomes new_index[j], in resident chunks immediately and in others on arrival.
  // Sparse only. `new_index` must outlive the stream.
  void remap_columns(const std::vector<std::int32_t>& new_index, Threads& threads);

 private:
  class PartPass;
  enum class State : std::uint8_t { kAbsent, kPending, kPresent };
  std::byte* buffer_at(std::int64_t chunk) const;
  const std::byte* fetch(std::int64_t chunk);
  const std::byte* arrive(std::int64_t chunk, Threads& threads);
  void visit(std::int64_t chunk, Threads& threads, const Body& body);
  void start_reads();
  void start_read(std::int64_t chunk);
  void make_room_for(std::int64_t chunk);
  void release_chunk(std::int64_t chunk);
  void remap(const Matrix& rows, Threads& threads) const;

  std::shared_ptr<const DataFile> file_;
  std::unique_ptr<HugePages> memory_;  // all buffers: resident chunks, then rotating ones
  std::jthread populate_thread_;       // populates the pages of memory_
  std::unique_ptr<io::ReadQueue>
      queue_;  // its destructor waits for pending reads, before the buffers are freed
  std::int64_t residents_ = 0, next_ = 0;  // next_: next chunk to read
  std::int64_t pending_reads_ = 0;         // number of pending reads
  std::vector<std::int64_t> free_;         // offsets of free rotating buffers
  std::vector<std::int64_t> buffer_of_;    // per chunk: offset of its (last) buffer
  std::vector<State> states_;              // per chunk
  std::vector<bool> is_checked_;           // per chunk
  std::vector<std::int64_t> first_rows_;
  const std::vector<std::int32_t>* new_index_ = nullptr;
  std::function<void()> on_chunk_ = [] {};
  std::int64_t chunks_read_ = 0, bytes_read_ = 0;
};

}  // namespace tutti::learn
