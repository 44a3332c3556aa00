// Negotiation messages: tensors that are ready, and the buckets they are executed in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/core/dtype.h"

namespace tutti::fusion {

enum class Kind : std::uint8_t {
  kAllReduce,
  kAdasum,  // sum without the common component of two gradients
  kAllGather,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kBarrier,
  kTimeline  // ends the timeline
};

// Properties of a tensor that must match on all ranks.
struct Signature {
  Kind kind = Kind::kAllReduce;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::int32_t root = 0;
  // Elements of each tensor of the group. kAllGather and kAllToAll: elements of one row, because the number of rows may
  // differ between ranks. kReduceScatter: both.
  std::vector<std::int64_t> counts = {};
  double prescale = 1, postscale = 1;
  std::string compression = "none";  // in the syntax of comm::Codec::parse
  std::string shape = {};            // further text that must match, chosen by the caller
  bool no_fusion = false;            // a bucket with only this tensor

  bool operator==(const Signature&) const = default;
  std::size_t bytes() const;
  // Description for messages: "all_reduce of 10 f32 (sum)".
  std::string text() const;
};

// A tensor that is ready on a rank, or on all ranks of a subtree.
struct Report {
  std::string name;
  Signature signature;
  std::int32_t priority = 0;  // lower goes first
  bool is_cacheable = true;   // may be cached: the name will be used again
  std::int32_t rank = 0;      // one of the ranks that submitted it
  std::string trouble = {};   // ranks disagree: the message names both sides
};

// A tensor that some rank of a subtree waits for, and the ranks of the subtree that have not submitted it.
struct Late {
  std::string name;
  std::vector<std::int32_t> missing;
};

// Message to the parent: changes in the whole subtree since the last message.
struct UpMessage {
  std::vector<std::uint32_t> known;  // cache indices; a bit vector on the wire
  std::vector<Report> reports;
  std::vector<Late> late;
  std::vector<std::int32_t> joined;  // ranks without further data
  std::vector<std::int32_t> left;    // ranks that have shut down

  bool is_empty() const {
    return known.empty() && reports.empty() && late.empty() && joined.empty() && left.empty();
  }
};

// A tensor in a bucket: either a cache index or a full report.
struct Item {
  static constexpr std::int64_t kUnknown = -1;
  std::int64_t known = kUnknown;  // cache index; the report is then not sent
  bool is_remembered = false;     // receives the next cache index
  Report report;
};

// Message to the children: buckets, in the order in which every rank executes them.
struct DownMessage {
  std::vector<std::vector<Item>> buckets;
  struct Failure {
    std::string name, code, text;
    bool is_timeout = false;
  };
  std::vector<Failure> failures;  // failures of individual tensors
  std::int32_t last_joined = -1;  // all ranks have joined, this one last
  std::int32_t left = -1;         // this rank has left: no further tensor can become ready
  bool is_end = false;            // all ranks have left

  bool is_empty() const {
    return buckets.empty() && failures.empty() && last_joined < 0 && left < 0 && !is_end;
  }
};

std::string encode(const UpMessage& message);
std::string encode(const DownMessage& message);
// Throw CommError if the bytes are not a valid message.
UpMessage decode_up(const std::string& bytes);
DownMessage decode_down(const std::string& bytes);
// Equal on two ranks if and only if name and signature are equal.
std::string key_of(const std::string& name, const Signature& signature);

}  // namespace tutti::fusion
