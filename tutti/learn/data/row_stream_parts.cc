// Passes of RowStream without a barrier after each chunk.
//
// Each part processes the chunks in order. A free thread takes the part that is furthest behind and not in progress,
// and processes its next chunk that has arrived. If all parts have processed all chunks that have arrived, the thread
// waits for the next chunk while others still compute. The thread that finishes the last part of a chunk frees its
// buffer and starts the next read. Which thread processes which part is not deterministic; the order of the sums within
// a part is.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/internal/chunk_check.h"
#include "tutti/learn/data/row_stream.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kResidentsAhead = 8;

}  // namespace

class RowStream::PartPass {
 public:
  PartPass(RowStream& stream, const std::vector<std::int64_t>& chunks, const Partition& partition,
           const PartBody& body)
      : stream_(stream),
        chunks_(chunks),
        partition_(partition),
        body_(body),
        visits_(chunks.size()),
        parts_(static_cast<std::size_t>(partition.parts)) {}
  // Chunks in use are incomplete: release them, to be read and verified again.
  ~PartPass() {
    for (std::int64_t i = 0; i < arrived_; ++i)
      if (visits_[i].is_open) end_visit(i);
  }

  void run(Threads& threads) {
    threads.run(threads.count(), [&](std::int64_t) { work(); });
    while (watched_++ < arrived_) stream_.on_chunk_();
  }

 private:
  // State of a chunk that has arrived.
  struct Visit {
    const std::byte* start = nullptr;
    Matrix rows;
    std::optional<ChunkCheck> check;  // if it is not verified yet
    std::int64_t parts_left = 0;
    // is_open: has a buffer; is_whole: processed, hence verified.
    bool is_open = false, is_whole = false;
  };
  struct Part {
    std::int64_t next = 0;  // index in the list of chunks
    bool is_taken = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  void work();
  bool do_next(Lock& lock);
  std::int64_t part_behind() const;
  void do_part(std::int64_t part, Lock& lock);
  void compute(std::int64_t part, std::int64_t chunk, Visit& visit) const;
  bool can_bring() const;
  void check_or_plan(std::int64_t chunk, Visit& visit) const;
  void bring(Lock& lock);
  void end_visits(Lock& lock);
  void end_visit(std::int64_t index);

  RowStream& stream_;
  const std::vector<std::int64_t>& chunks_;
  const Partition partition_;
  const PartBody& body_;
  const std::thread::id caller_ = std::this_thread::get_id();

  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::vector<Visit> visits_;
  std::vector<Part> parts_;
  std::int64_t arrived_ = 0, watched_ = 0, in_use_ = 0;  // numbers of chunks
  std::vector<std::int64_t> ended_;                      // chunks whose buffers can be freed
  bool is_reading_ = false;                              // a thread uses the stream exclusively
  bool is_broken_ = false;                               // a thread has thrown
};

void RowStream::PartPass::work() {
  Lock lock(mutex_);
  try {
    while (!is_broken_ && do_next(lock)) {
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    is_broken_ = true;
    changed_.notify_all();
    throw;
  }
}

// Returns whether there is more to do.
bool RowStream::PartPass::do_next(Lock& lock) {
  if (std::this_thread::get_id() == caller_ && watched_ < arrived_) {
    ++watched_;
    lock.unlock();
    stream_.on_chunk_();
    lock.lock();
  }
  if (!ended_.empty() && !is_reading_) {
    end_visits(lock);
  } else if (const std::int64_t part = part_behind(); part >= 0) {
    do_part(part, lock);
  } else if (can_bring()) {
    bring(lock);
  } else if (arrived_ == static_cast<std::int64_t>(chunks_.size())) {
    return false;  // other threads process the rest
  } else {
    changed_.wait(lock);
  }
  return true;
}

// Returns the part to continue with, or -1.
std::int64_t RowStream::PartPass::part_behind() const {
  std::int64_t found = -1;
  for (std::int64_t part = 0; part < partition_.parts; ++part) {
    const Part& one = parts_[part];
    if (one.is_taken || one.next >= arrived_) continue;
    if (found < 0 || one.next < parts_[found].next) found = part;
  }
  return found;
}

void RowStream::PartPass::do_part(std::int64_t part, Lock& lock) {
  Part& own = parts_[part];
  Visit& visit = visits_[own.next];
  own.is_taken = true;
  lock.unlock();
  compute(part, chunks_[own.next], visit);
  lock.lock();
  own.is_taken = false;
  const std::int64_t index = own.next++;
  if (--visit.parts_left == 0) {
    if (visit.check) visit.check->finish();
    visit.is_whole = true;
    ended_.push_back(index);
  }
  changed_.notify_all();
}

// Rows of an unverified chunk are processed directly after they are checked. A piece is checked by the part that it
// begins in.
void RowStream::PartPass::compute(std::int64_t part, std::int64_t chunk, Visit& visit) const {
  const Matrix& rows = visit.rows;
  const std::int64_t first = stream_.first_rows_[chunk];
  const std::int64_t blocks = (rows.rows + partition_.block_rows - 1) / partition_.block_rows;
  const std::int64_t begin = blocks * part / partition_.parts,
                     end = blocks * (part + 1) / partition_.parts;
  const auto row_at = [&](std::int64_t block) {
    return std::min(rows.rows, block * partition_.block_rows);
  };
  if (!visit.check) {
    if (begin < end) body_(part, rows, first, row_at(begin), row_at(end));
    return;
  }
  const std::int64_t row_bytes = rows.columns * static_cast<std::int64_t>(size_of(rows.dtype));
  const std::int64_t values_at = static_cast<const std::byte*>(rows.values) - visit.start;
  const auto byte_at = [&](std::int64_t block) { return values_at + row_at(block) * row_bytes; };
  const std::int64_t size = ChunkCheck::piece_bytes();
  const auto piece_from = [&](std::int64_t byte) { return (byte + size - 1) / size; };
  ChunkCheck::Walk walk(
      *visit.check, part == 0 ? 0 : piece_from(byte_at(begin)),
      part + 1 == partition_.parts ? visit.check->pieces() : piece_from(byte_at(end)));
  for (std::int64_t block = begin; block < end; ++block) {
    walk.check_until(byte_at(block + 1));
    body_(part, rows, first, row_at(block), row_at(block + 1));
  }
  walk.check_all();
}

// If all buffers are in use, a read is started when one of them is freed.
bool RowStream::PartPass::can_bring() const {
  if (is_reading_ || arrived_ == static_cast<std::int64_t>(chunks_.size())) return false;
  const std::int64_t chunk = chunks_[arrived_];
  return stream_.is_resident(chunk) || stream_.states_[chunk] != State::kAbsent || in_use_ == 0;
}

// Files that cannot be verified piece by piece are verified here.
void RowStream::PartPass::check_or_plan(std::int64_t chunk, Visit& visit) const {
  const DataFile& file = *stream_.file_;
  if (stream_.is_checked_[chunk]) return;
  if (file.can_check_pieces()) {
    visit.check.emplace(file, chunk, visit.start);
  } else {
    Threads alone(1);
    file.check_chunk(chunk, visit.start, alone);
  }
}

void RowStream::PartPass::bring(Lock& lock) {
  const std::int64_t index = arrived_, chunk = chunks_[index];
  const auto count = static_cast<std::int64_t>(chunks_.size());
  is_reading_ = true;
  lock.unlock();
  const auto end_reading = [&] {
    lock.lock();
    is_reading_ = false;
  };
  Visit& visit = visits_[index];
  try {
    for (std::int64_t i = index; i < std::min(count, index + kResidentsAhead); ++i)
      if (stream_.is_resident(chunks_[i]) && stream_.states_[chunks_[i]] == State::kAbsent)
        stream_.start_read(chunks_[i]);
    visit.start = stream_.fetch(chunk);
    visit.rows = stream_.file_->view(chunk, visit.start);
    check_or_plan(chunk, visit);
    stream_.start_reads();
  } catch (...) {
    if (visit.start != nullptr) stream_.release_chunk(chunk);
    end_reading();
    throw;
  }
  end_reading();
  visit.parts_left = partition_.parts;
  visit.is_open = true;
  ++arrived_;
  ++in_use_;
  changed_.notify_all();
}

void RowStream::PartPass::end_visits(Lock& lock) {
  const std::vector<std::int64_t> ended = std::exchange(ended_, {});
  is_reading_ = true;
  lock.unlock();
  for (const std::int64_t index : ended) end_visit(index);
  stream_.start_reads();
  lock.lock();
  is_reading_ = false;
  in_use_ -= static_cast<std::int64_t>(ended.size());
  changed_.notify_all();
}

void RowStream::PartPass::end_visit(std::int64_t index) {
  const std::int64_t chunk = chunks_[index];
  Visit& visit = visits_[index];
  visit.is_open = false;
  visit.check.reset();
  if (visit.is_whole) stream_.is_checked_[chunk] = true;
  if (!stream_.is_resident(chunk) || !stream_.is_checked_[chunk]) stream_.release_chunk(chunk);
}

void RowStream::for_parts(Threads& threads, const std::vector<std::int64_t>& chunks,
                          const Partition& partition, const PartBody& body) {
  PartPass(*this, chunks, partition, body).run(threads);
}

}  // namespace tutti::learn
