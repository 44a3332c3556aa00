#include "tutti/comm/base/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tutti::comm {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value;
  hash *= 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

bool reduces(plan::Collective collective) {
  return collective == plan::Collective::kAllReduce || collective == plan::Collective::kReduce ||
         collective == plan::Collective::kReduceScatter;
}

}  // namespace

OpRecord OpRecord::of(const Operation& operation, std::uint64_t sequence) {
  OpRecord record;
  record.sequence = sequence;
  record.count =
      operation.counts.empty()
          ? operation.count
          : std::accumulate(operation.counts.begin(), operation.counts.end(), std::int64_t{0});
  record.name_hash = operation.name.empty() ? 0 : hash_of(operation.name);
  record.collective = operation.collective;
  record.dtype = operation.dtype;
  if (reduces(operation.collective)) record.op = operation.op;
  record.root = operation.root;
  const std::size_t length = std::min(operation.name.size(), record.name.size() - 1);
  if (length > 0) std::memcpy(record.name.data(), operation.name.data(), length);
  return record;
}

std::uint64_t OpRecord::fingerprint() const {
  const std::uint64_t kinds = static_cast<std::uint64_t>(collective) |
                              static_cast<std::uint64_t>(dtype) << 8 |
                              static_cast<std::uint64_t>(op) << 16 |
                              static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
  return mix(mix(mix(mix(0, sequence), static_cast<std::uint64_t>(count)), name_hash), kinds);
}

std::string OpRecord::text() const {
  if (collective == plan::Collective::kSendReceive) {
    const std::string sender = root < 0 ? "any rank" : fmt::format("rank {}", root);
    return fmt::format("message from {}, {} ({} x {})", sender, name.data(), count, name_of(dtype));
  }
  std::string out = fmt::format("{} #{}", plan::name_of(collective), sequence);
  if (name[0]) out += fmt::format(" '{}'", name.data());
  if (collective == plan::Collective::kBarrier) return out;
  out += fmt::format(" ({} x {}", count, name_of(dtype));
  if (reduces(collective)) out += fmt::format(", {}", name_of(op));
  const bool has_root =
      collective == plan::Collective::kBroadcast || collective == plan::Collective::kReduce ||
      collective == plan::Collective::kGather || collective == plan::Collective::kScatter;
  if (has_root) out += fmt::format(", root {}", root);
  return out + ")";
}

Result disagreement(int rank, const OpRecord& mine, int other, const OpRecord& theirs) {
  return Result::failure(
      ErrorKind::kComm, "DDL-4-02",
      fmt::format(
          "Ranks disagree: rank {} calls {}, rank {} calls {}. All ranks must call the same "
          "collectives in the same order with the same count, type, operation, root and name.",
          rank, mine.text(), other, theirs.text()));
}

}  // namespace tutti::comm
