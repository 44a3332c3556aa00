#include "tutti/learn/data/row_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tutti/core/error.h"
#include "tutti/learn/internal/huge_pages.h"
#include "tutti/learn/threads.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kAhead = 8;          // buffers used in turn, where there is room
constexpr std::int64_t kFewestBuffers = 3;  // one chunk in memory, one in use, one being read

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
}

}  // namespace

struct RowStream::Buffer {
  explicit Buffer(std::int64_t bytes)
      : data(static_cast<std::byte*>(
            std::aligned_alloc(kReadAlignment, static_cast<std::size_t>(bytes)))) {
    if (data == nullptr) throw std::bad_alloc();
    prefer_huge_pages(data, static_cast<std::size_t>(bytes));
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data;
};

RowStream::RowStream(std::shared_ptr<const DataFile> file, std::int64_t bytes,
                     ReadQueue::Engine engine)
    : file_(std::move(file)) {
  const std::int64_t chunks = file_->chunks();
  std::int64_t largest = kReadAlignment, row = 0, all = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t size = rounded(file_->bytes_of(chunk));
    largest = std::max(largest, size);
    all += size;
    first_rows_.push_back(row);
    row += file_->rows_of(chunk);
  }
  buffer_of_.assign(chunks, -1);
  is_checked_.assign(chunks, false);
  is_loaded_.assign(chunks, false);
  const std::int64_t count = all <= bytes ? chunks : bytes / largest;
  if (count < std::min(chunks, kFewestBuffers))
    throw ConfigError(
        "DDL-9-12",
        fmt::format("{}: {} bytes are left for its chunks, which are up to {}; at least {} must "
                    "fit. Raise memory_limit, or write the file with smaller chunks.",
                    file_->name(), std::max<std::int64_t>(0, bytes), largest, kFewestBuffers));
  residents_ = count >= chunks ? chunks : count - std::clamp(count / 2, kFewestBuffers - 1, kAhead);
  for (std::int64_t i = 0; i < residents_; ++i) {
    buffers_.push_back(std::make_unique<Buffer>(rounded(file_->bytes_of(i))));
    buffer_of_[i] = i;
  }
  std::vector<std::span<std::byte>> in_turn;
  for (std::int64_t i = residents_; i < std::min(chunks, count); ++i) {
    buffers_.push_back(std::make_unique<Buffer>(largest));
    in_turn.emplace_back(buffers_.back()->data, static_cast<std::size_t>(largest));
    free_.push_back(i);
  }
  queue_ = ReadQueue::open(file_->name(), engine);
  start_reads();
  queue_->expect(in_turn);  // takes a while: the disk is busy meanwhile
}

RowStream::~RowStream() {
  queue_.reset();
}

void RowStream::start_read(std::int64_t chunk, std::int64_t buffer) {
  buffer_of_[chunk] = buffer;
  // Labels and weights are needed only where the whole chunk is checked.
  const std::int64_t skipped =
      is_checked_[chunk] ? file_->features_at(chunk) / kReadAlignment * kReadAlignment : 0;
  const std::int64_t bytes = file_->bytes_of(chunk) - skipped;
  queue_->start(chunk, file_->offset_of(chunk) + skipped, bytes, buffers_[buffer]->data + skipped);
  ahead_.push_back(chunk);
  ++chunks_read_;
  bytes_read_ += bytes;
}

// What comes next, as far as there are buffers. After the last chunk comes the first that has to be
// read again.
void RowStream::start_reads() {
  const std::int64_t chunks = file_->chunks();
  while (static_cast<std::int64_t>(ahead_.size()) < kAhead && next_ < chunks) {
    if (is_resident(next_)) {
      start_read(next_, next_);
    } else if (free_.empty()) {
      return;
    } else {
      const std::int64_t buffer = free_.back();
      free_.pop_back();
      start_read(next_, buffer);
    }
    if (++next_ == chunks && residents_ < chunks) next_ = residents_;
  }
}

RowStream::Buffer& RowStream::arrive(std::int64_t chunk, Threads& threads) {
  if (!is_loaded_[chunk]) {
    // A pass that ended early has left others in front.
    while (ahead_.front() != chunk) {
      const std::int64_t other = ahead_.front();
      ahead_.pop_front();
      queue_->wait(other);
      if (is_resident(other)) {
        is_loaded_[other] = true;
      } else {
        free_.push_back(buffer_of_[other]);
      }
      start_reads();
    }
    ahead_.pop_front();
    queue_->wait(chunk);
    is_loaded_[chunk] = true;
    Buffer& buffer = *buffers_[buffer_of_[chunk]];
    if (!is_checked_[chunk]) file_->check_chunk(chunk, buffer.data, threads);
    is_checked_[chunk] = true;
    if (places_ != nullptr) rename(file_->view(chunk, buffer.data), threads);
    start_reads();
  }
  return *buffers_[buffer_of_[chunk]];
}

void RowStream::for_chunks(Threads& threads, const Body& body) {
  for (std::int64_t chunk = 0; chunk < file_->chunks(); ++chunk) {
    const Buffer& buffer = arrive(chunk, threads);
    // The buffer is free again even when the body throws.
    const auto release = [&] {
      if (is_resident(chunk)) return;
      is_loaded_[chunk] = false;
      free_.push_back(buffer_of_[chunk]);
      start_reads();
    };
    try {
      body(file_->view(chunk, buffer.data), first_rows_[chunk]);
    } catch (...) {
      release();
      throw;
    }
    release();
  }
}

void RowStream::for_residents(Threads& threads, const Body& body) {
  for (std::int64_t chunk = 0; chunk < residents_; ++chunk)
    body(file_->view(chunk, arrive(chunk, threads).data), first_rows_[chunk]);
}

void RowStream::rename_columns(const std::vector<std::int32_t>& places, Threads& threads) {
  places_ = &places;
  for (std::int64_t chunk = 0; chunk < residents_; ++chunk)
    if (is_loaded_[chunk]) rename(file_->view(chunk, buffers_[chunk]->data), threads);
}

void RowStream::rename(const Matrix& rows, Threads& threads) const {
  auto* indices = const_cast<std::int32_t*>(rows.indices);  // in a buffer of this stream
  threads.for_range(rows.entries(), 1 << 18, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) indices[i] = (*places_)[indices[i]];
  });
}

}  // namespace tutti::learn
