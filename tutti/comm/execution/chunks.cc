#include "tutti/comm/execution/chunks.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tutti::comm {
namespace {

using plan::Collective;
using PieceCounts = std::vector<std::int64_t>;
using Run = std::function<Result(const Operation&)>;

std::int64_t width_of(const Operation& operation) {
  return static_cast<std::int64_t>(size_of(operation.dtype));
}

PieceCounts pieces_of(const Operation& operation, int ranks) {
  if (!operation.counts.empty()) return operation.counts;
  return PieceCounts(static_cast<std::size_t>(ranks), operation.count);
}

void move_input(Operation& operation, std::int64_t elements) {
  if (!operation.input) return;
  operation.input = static_cast<const std::byte*>(operation.input) + elements * width_of(operation);
}

void move_output(Operation& operation, std::int64_t elements) {
  if (!operation.output) return;
  operation.output = static_cast<std::byte*>(operation.output) + elements * width_of(operation);
}

Result split_vector(const Operation& operation, const Run& run) {
  const std::int64_t most = kMostStagedBytes / width_of(operation);
  Result outcome = Result::ok();
  for (std::int64_t begin = 0; begin < operation.count && outcome; begin += most) {
    Operation chunk = operation;
    chunk.count = std::min(most, operation.count - begin);
    move_input(chunk, begin);
    move_output(chunk, begin);
    outcome = run(chunk);
  }
  return outcome;
}

// Elements of a chunk in each piece. Chunks have about equal size and start at cache lines if the pieces do.
std::int64_t part_of(const PieceCounts& pieces, std::int64_t width) {
  constexpr std::int64_t kUnit = 64;
  const std::int64_t longest = *std::ranges::max_element(pieces);
  const auto empty = std::ranges::count(pieces, 0);
  const auto filled = static_cast<std::int64_t>(pieces.size()) - empty;
  const std::int64_t most = std::max<std::int64_t>(
      1, kMostStagedBytes / width / std::max<std::int64_t>(1, filled) / kUnit * kUnit);
  const std::int64_t parts = (longest + most - 1) / most;
  const std::int64_t even = (longest + parts - 1) / std::max<std::int64_t>(1, parts);
  return std::min(most, (even + kUnit - 1) / kUnit * kUnit);
}

// The buffer with one piece per rank keeps its address. The other buffer, such as the input of an all_gather, is this
// rank's piece.
Result split_pieces(const Operation& operation, int rank, int ranks, const Run& run) {
  const PieceCounts pieces = pieces_of(operation, ranks);
  const std::int64_t longest = *std::ranges::max_element(pieces);
  const std::int64_t part = part_of(pieces, width_of(operation));
  PieceCounts starts(pieces.size());
  std::exclusive_scan(pieces.begin(), pieces.end(), starts.begin(), std::int64_t{0});
  Result outcome = Result::ok();
  for (std::int64_t begin = 0; begin < longest && outcome; begin += part) {
    Operation chunk = operation;
    chunk.offsets.clear();
    chunk.counts.clear();
    for (std::size_t r = 0; r < pieces.size(); ++r) {
      const std::int64_t skipped = std::min(begin, pieces[r]);
      chunk.offsets.push_back(starts[r] + skipped);
      chunk.counts.push_back(std::min(part, pieces[r] - skipped));
    }
    const std::int64_t mine = std::min(begin, pieces[static_cast<std::size_t>(rank)]);
    if (!chunk.has_pieces_in_input()) move_input(chunk, mine);
    if (!chunk.has_pieces_in_output()) move_output(chunk, mine);
    if (operation.counts.empty()) {
      chunk.count = chunk.counts.front();
      chunk.counts.clear();
    }
    outcome = run(chunk);
  }
  return outcome;
}

}  // namespace

bool has_pieces(const Operation& operation) {
  return (operation.has_pieces_in_input() || operation.has_pieces_in_output()) &&
         operation.send_counts.empty();
}

std::int64_t total_bytes(const Operation& operation, int ranks) {
  if (!has_pieces(operation)) return operation.count * width_of(operation);
  const PieceCounts pieces = pieces_of(operation, ranks);
  return std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}) * width_of(operation);
}

Result for_each_chunk(const Operation& operation, int rank, int ranks, const Run& run) {
  return has_pieces(operation) ? split_pieces(operation, rank, ranks, run)
                               : split_vector(operation, run);
}

}  // namespace tutti::comm
