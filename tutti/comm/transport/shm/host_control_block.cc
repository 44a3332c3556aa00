#include "tutti/comm/transport/shm/host_control_block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tutti/comm/observe/flight_record.h"

namespace tutti::comm {
namespace {

using Words = std::array<std::uint64_t, 8>;

template <std::size_t N>
void copy_text(char (&target)[N], const std::string& text) {
  const std::size_t length = std::min(N - 1, text.size());
  std::memcpy(target, text.data(), length);
  target[length] = 0;
}

}  // namespace

void HostControlBlock::write_record(int member, const OpRecord& record) const {
  RankBlock& mine = block(member);
  const auto words = std::bit_cast<Words>(record);
  const std::uint32_t version = mine.record_version.load(std::memory_order_relaxed);
  mine.record_version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) {
    mine.record[i].store(words[i], std::memory_order_relaxed);
  }
  mine.record_version.store(version + 2, std::memory_order_release);
}

OpRecord HostControlBlock::record_of(int member) const {
  const RankBlock& theirs = block(member);
  Words words{};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::uint32_t before = theirs.record_version.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = theirs.record[i].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && theirs.record_version.load(std::memory_order_relaxed) == before) break;
  }
  return std::bit_cast<OpRecord>(words);
}

void HostControlBlock::write_failure(int member, const Result& failure) const {
  FailureNote& note = block(member).failure;
  if (note.is_written.load(std::memory_order_relaxed)) return;
  note.kind = static_cast<std::uint32_t>(failure.kind());
  copy_text(note.code, failure.code());
  copy_text(note.message, failure.message());
  note.is_written.store(1, std::memory_order_release);
}

bool HostControlBlock::was_away(int member, std::int64_t begin_ns, std::int64_t end_ns) const {
  const RankBlock& theirs = block(member);
  const std::int64_t moved = theirs.moved_ticks.load(std::memory_order_relaxed);
  const std::int64_t away = theirs.away_ticks.load(std::memory_order_relaxed);
  const bool is_inside = theirs.is_inside.load(std::memory_order_relaxed) != 0;
  const std::int64_t left = std::max(monotonic_ns(is_inside ? moved - away : moved), begin_ns);
  const std::int64_t back = is_inside ? std::min(monotonic_ns(moved), end_ns) : end_ns;
  return 2 * (back - left) >= end_ns - begin_ns;
}

Result HostControlBlock::failure_of(int member) const {
  const FailureNote& note = block(member).failure;
  if (!note.is_written.load(std::memory_order_acquire)) return Result::ok();
  return Result::failure(static_cast<ErrorKind>(note.kind), note.code, note.message);
}

}  // namespace tutti::comm
