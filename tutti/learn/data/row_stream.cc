#include "tutti/learn/data/row_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/learn/base/huge_pages.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kAhead = 8;       // rotating buffers, if memory allows
constexpr std::int64_t kMinBuffers = 3;  // one resident chunk, one in use, one being read

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + io::kReadAlignment - 1) / io::kReadAlignment * io::kReadAlignment;
}

}  // namespace

RowStream::RowStream(std::shared_ptr<const DataFile> file, std::int64_t bytes,
                     io::ReadQueue::Engine engine)
    : file_(std::move(file)) {
  const std::int64_t chunks = file_->chunks();
  std::int64_t largest = io::kReadAlignment, row = 0, all = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t size = rounded(file_->bytes_of(chunk));
    largest = std::max(largest, size);
    all += size;
    first_rows_.push_back(row);
    row += file_->rows_of(chunk);
  }
  buffer_of_.assign(chunks, -1);
  is_checked_.assign(chunks, false);
  states_.assign(chunks, State::kAbsent);
  const std::int64_t count = all <= bytes ? chunks : bytes / largest;
  if (count < std::min(chunks, kMinBuffers))
    throw ConfigError(
        "DDL-9-12",
        fmt::format("{}: {} bytes are available for chunks of up to {} bytes; at least {} chunks "
                    "must fit. Raise memory_limit, or write the file with smaller chunks.",
                    file_->name(), std::max<std::int64_t>(0, bytes), largest, kMinBuffers));
  residents_ = count >= chunks ? chunks : count - std::clamp(count / 2, kMinBuffers - 1, kAhead);
  std::int64_t offset = 0;  // of the next buffer
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (!is_resident(chunk)) continue;
    buffer_of_[chunk] = offset;
    offset += rounded(file_->bytes_of(chunk));
  }
  for (std::int64_t i = residents_; i < std::min(chunks, count); ++i, offset += largest)
    free_.push_back(offset);
  std::reverse(free_.begin(), free_.end());  // buffers are taken from the end
  memory_ = std::make_unique<HugePages>(static_cast<std::size_t>(offset));
  std::vector<std::span<std::byte>> rotating;
  for (const std::int64_t buffer : free_)
    rotating.emplace_back(memory_->data() + buffer, static_cast<std::size_t>(largest));
  queue_ = io::ReadQueue::open(file_->name(), engine);
  // Populates pages from the end, while the first chunks are read into other buffers: the kernel zeroes pages more
  // slowly than the disk reads.
  populate_thread_ = std::jthread([this](const std::stop_token& stop) { memory_->populate(stop); });
  start_reads();
  queue_->expect(rotating);  // slow, but overlaps with the first reads
}

RowStream::~RowStream() {
  queue_.reset();
}

std::byte* RowStream::buffer_at(std::int64_t chunk) const {
  return memory_->data() + buffer_of_[chunk];
}

// Reads the chunk into its buffer.
void RowStream::start_read(std::int64_t chunk) {
  // Labels and weights are needed only if the whole chunk is verified.
  const std::int64_t skipped =
      is_checked_[chunk] ? file_->features_at(chunk) / io::kReadAlignment * io::kReadAlignment : 0;
  const std::int64_t bytes = file_->bytes_of(chunk) - skipped;
  queue_->start(chunk, file_->offset_of(chunk) + skipped, bytes, buffer_at(chunk) + skipped);
  states_[chunk] = State::kPending;
  ++pending_reads_;
  ++chunks_read_;
  bytes_read_ += bytes;
}

// Starts reads of the next chunks while buffers are free; the last chunk is followed by the first.
void RowStream::start_reads() {
  const std::int64_t chunks = file_->chunks();
  for (std::int64_t i = 0; i < chunks && pending_reads_ < kAhead;
       ++i, next_ = (next_ + 1) % chunks) {
    if (states_[next_] != State::kAbsent) {
      if (is_resident(next_)) continue;
      return;
    }
    if (!is_resident(next_)) {
      if (free_.empty()) return;
      buffer_of_[next_] = free_.back();
      free_.pop_back();
    }
    start_read(next_);
  }
}

void RowStream::release_chunk(std::int64_t chunk) {
  states_[chunk] = State::kAbsent;
  if (!is_resident(chunk)) free_.push_back(buffer_of_[chunk]);
}

// Starts reading a chunk out of order: a resident chunk that is needed early, or the first chunks after a pass that
// ended early and left later chunks in the buffers.
void RowStream::make_room_for(std::int64_t chunk) {
  if (is_resident(chunk)) return start_read(chunk);
  for (std::int64_t other = 0; other < file_->chunks(); ++other) {
    if (is_resident(other) || states_[other] != State::kPending) continue;
    queue_->wait(other);
    --pending_reads_;
    release_chunk(other);
  }
  buffer_of_[chunk] = free_.back();
  free_.pop_back();
  start_read(chunk);
  next_ = (chunk + 1) % file_->chunks();
}

// Waits for the chunk if necessary. It may not be verified yet.
const std::byte* RowStream::fetch(std::int64_t chunk) {
  if (states_[chunk] == State::kAbsent) make_room_for(chunk);
  if (states_[chunk] == State::kPending) {
    states_[chunk] = State::kPresent;
    --pending_reads_;
    try {
      queue_->wait(chunk);
    } catch (...) {
      release_chunk(chunk);
      throw;
    }
  }
  return buffer_at(chunk);
}

const std::byte* RowStream::arrive(std::int64_t chunk, Threads& threads) {
  const bool is_new = states_[chunk] != State::kPresent;
  const std::byte* data = fetch(chunk);
  if (!is_new) return data;
  try {
    if (!is_checked_[chunk]) file_->check_chunk(chunk, data, threads);
  } catch (...) {
    release_chunk(chunk);
    throw;
  }
  is_checked_[chunk] = true;
  if (new_index_ != nullptr) remap(file_->view(chunk, data), threads);
  start_reads();
  return data;
}

void RowStream::visit(std::int64_t chunk, Threads& threads, const Body& body) {
  on_chunk_();
  const std::byte* data = arrive(chunk, threads);
  // Frees the buffer even if the body throws.
  const auto release = [&] {
    if (is_resident(chunk)) return;
    release_chunk(chunk);
    start_reads();
  };
  try {
    body(file_->view(chunk, data), first_rows_[chunk]);
  } catch (...) {
    release();
    throw;
  }
  release();
}

void RowStream::for_chunks(Threads& threads, const Body& body) {
  for (std::int64_t chunk = 0; chunk < file_->chunks(); ++chunk) visit(chunk, threads, body);
}

void RowStream::for_others(Threads& threads, std::int64_t begin, std::int64_t end,
                           const Body& body) {
  for (std::int64_t chunk = begin; chunk < end; ++chunk)
    if (!is_resident(chunk)) visit(chunk, threads, body);
}

void RowStream::for_residents(Threads& threads, const Body& body) {
  std::int64_t started = 0;
  const auto start_next = [&] {
    while (started < file_->chunks() && !is_resident(started)) ++started;
    if (started == file_->chunks()) return;
    if (states_[started] == State::kAbsent) start_read(started);
    ++started;
  };
  for (std::int64_t i = 0; i < kAhead; ++i) start_next();
  for (std::int64_t chunk = 0; chunk < file_->chunks(); ++chunk) {
    if (!is_resident(chunk)) continue;
    on_chunk_();
    body(file_->view(chunk, arrive(chunk, threads)), first_rows_[chunk]);
    start_next();
  }
}

void RowStream::remap_columns(const std::vector<std::int32_t>& new_index, Threads& threads) {
  new_index_ = &new_index;
  for (std::int64_t chunk = 0; chunk < file_->chunks(); ++chunk)
    if (is_resident(chunk) && states_[chunk] == State::kPresent)
      remap(file_->view(chunk, buffer_at(chunk)), threads);
}

void RowStream::remap(const Matrix& rows, Threads& threads) const {
  auto* indices = const_cast<std::int32_t*>(rows.indices);  // points into a buffer of this stream
  threads.for_range(rows.entries(), 1 << 18, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) indices[i] = (*new_index_)[indices[i]];
  });
}

}  // namespace tutti::learn
