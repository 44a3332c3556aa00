// The rows of a data file that is larger than the memory they may take: chunk by chunk, again and
// again, the next ones being read meanwhile.
//
// As many chunks as fit stay in memory: the same ones for the whole fit, because a cache that drops
// the oldest would keep none until its turn comes, and spread evenly over the file, so that the
// disk reads while they are worked on and that they are a fair sample of the rows. The others go
// through a few buffers in turn, and the reading does not stop between passes.
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

// One caller at a time.
class RowStream {
 public:
  // `bytes` may be taken for chunks. Throws ConfigError when three of them do not fit.
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

  // body(rows, first): the features of a chunk, whose first row is row `first` of the file; they
  // live until it returns. Every chunk once, in order. A chunk is checked when it first arrives:
  // throws IoError when it is damaged, ConfigError when a value is not finite.
  using Body = std::function<void(const Matrix& rows, std::int64_t first)>;
  void for_chunks(Threads& threads, const Body& body);
  // Only the ones that stay in memory, at least one, in order.
  void for_residents(Threads& threads, const Body& body);
  // Only the others, of the chunks [begin, end).
  void for_others(Threads& threads, std::int64_t begin, std::int64_t end, const Body& body);

  // The chunks of an ascending list, of dense rows, worked on by all threads, which do not wait for
  // each other after each chunk. Their blocks of `block_rows` are shared out to `parts`, the first
  // ones to part 0, and body(part, rows, first, begin, end) gets rows [begin, end) of a chunk: of
  // one part in order, one call at a time. It may see rows before their chunk is known to be
  // damaged; the pass throws all the same.
  struct Partition {
    std::int64_t parts, block_rows;
  };
  using PartBody = std::function<void(std::int64_t part, const Matrix& rows, std::int64_t first,
                                      std::int64_t begin, std::int64_t end)>;
  void for_parts(Threads& threads, const std::vector<std::int64_t>& chunks,
                 const Partition& partition, const PartBody& body);

  // Called for every chunk from now on, by the thread that began the pass; what it throws ends
  // the pass, and the next one is whole again.
  void set_watch(std::function<void()> watch) { watch_ = std::move(watch); }

  // From now on column j is to be column places[j]: what arrives is rewritten, what is there at
  // once. Sparse only; `new_index` must outlive the stream.
  void remap_columns(const std::vector<std::int32_t>& new_index, Threads& threads);

 private:
  class PartPass;
  enum class State : std::uint8_t { kAbsent, kBeingRead, kThere };
  std::byte* buffer_at(std::int64_t chunk) const;
  const std::byte* fetch(std::int64_t chunk);
  const std::byte* arrive(std::int64_t chunk, Threads& threads);
  void visit(std::int64_t chunk, Threads& threads, const Body& body);
  void start_reads();
  void start_read(std::int64_t chunk);
  void make_room_for(std::int64_t chunk);
  void let_go(std::int64_t chunk);
  void remap(const Matrix& rows, Threads& threads) const;

  std::shared_ptr<const DataFile> file_;
  std::unique_ptr<HugePages> memory_;  // of all buffers: of the residents, then those used in turn
  std::jthread claimer_;               // has the kernel find that memory
  std::unique_ptr<io::ReadQueue> queue_;   // ends its reads before the buffers go
  std::int64_t residents_ = 0, next_ = 0;  // the chunk to be read next
  std::int64_t being_read_ = 0;            // chunks
  std::vector<std::int64_t> free_;         // where buffers used in turn begin
  std::vector<std::int64_t> buffer_of_;    // per chunk; of those used in turn the last one
  std::vector<State> states_;              // per chunk
  std::vector<bool> is_checked_;           // per chunk
  std::vector<std::int64_t> first_rows_;
  const std::vector<std::int32_t>* new_index_ = nullptr;
  std::function<void()> watch_ = [] {};
  std::int64_t chunks_read_ = 0, bytes_read_ = 0;
};

}  // namespace tutti::learn
