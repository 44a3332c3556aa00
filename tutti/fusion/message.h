// What ranks tell each other before tensors go: which are ready, and in which buckets they go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/dtype.h"

namespace tutti::fusion {

enum class Kind : std::uint8_t {
  kAllReduce,
  kAdasum,  // sums that take away what two gradients have in common
  kAllGather,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kBarrier,
  kTimeline  // ends the timeline
};

// What all ranks must agree on.
struct Signature {
  Kind kind = Kind::kAllReduce;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::int32_t root = 0;
  // Elements of each tensor of the group; for kAllGather and kAllToAll of one row: the number of
  // rows is each rank's own. For kReduceScatter both.
  std::vector<std::int64_t> counts = {};
  double prescale = 1, postscale = 1;
  std::string compression = "none";  // as comm::Codec::parse reads it
  std::string shape = {};            // what else is to be the same, in the caller's words
  bool is_alone = false;             // is a bucket by itself

  bool operator==(const Signature&) const = default;
  std::size_t bytes() const;
  // For people: "all_reduce of 10 f32 (sum)".
  std::string text() const;
};

// A tensor that is ready on a rank, or on all ranks of a part of the tree.
struct Report {
  std::string name;
  Signature signature;
  std::int32_t priority = 0;  // lower goes first
  bool is_kept = true;        // may be remembered: the name will come again
  std::int32_t rank = 0;      // one that said so
  std::string trouble = {};   // ranks disagree: both sides
};

// Tensors that somebody in a part of the tree waits for, and the ranks of it that lack them.
struct Late {
  std::string name;
  std::vector<std::int32_t> missing;
};

// To the parent: what became ready in the whole part of the tree below.
struct UpMessage {
  std::vector<std::uint32_t> known;  // numbers of the cache; on the wire a vector of bits
  std::vector<Report> reports;
  std::vector<Late> late;
  std::vector<std::int32_t> joined;  // ranks that have no more data
  std::vector<std::int32_t> left;    // ranks that have ended their part

  bool is_empty() const {
    return known.empty() && reports.empty() && late.empty() && joined.empty() && left.empty();
  }
};

struct Item {
  static constexpr std::int64_t kUnknown = -1;
  std::int64_t known = kUnknown;  // number in the cache; then the report does not travel
  bool is_remembered = false;     // gets the next number of the cache
  Report report;
};

// To the children: buckets, in the order in which every rank runs them.
struct DownMessage {
  std::vector<std::vector<Item>> buckets;
  struct Failure {
    std::string name, code, text;
    bool is_timeout = false;
  };
  std::vector<Failure> failures;  // of single tensors
  std::int32_t last_joined = -1;  // all have joined, this one last
  std::int32_t left = -1;         // this rank has left: nothing can become ready any more
  bool is_end = false;            // all have left

  bool is_empty() const {
    return buckets.empty() && failures.empty() && last_joined < 0 && left < 0 && !is_end;
  }
};

std::string encode(const UpMessage& message);
std::string encode(const DownMessage& message);
// Throw CommError when the bytes are no such message.
UpMessage decode_up(const std::string& bytes);
DownMessage decode_down(const std::string& bytes);
// The same on two ranks exactly when name and signature are.
std::string key_of(const std::string& name, const Signature& signature);

}  // namespace tutti::fusion
