// A collective as data: what one rank does, step by step, over ranges of elements. Built by
// plan/algorithms, run by comm on real transports and by sim in virtual time; tests assert on it
// what the documentation claims.
//
// Words. A *step* is one thing a rank does. A *lane* is a sequence of steps over one chunk of the
// data; lanes do not depend on each other, so the network of one works while the memory of another
// does. A *group* is a set of ranks on one host that map each other's memory and meet in syncs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::plan {

enum class Collective : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kBarrier,
  kSendReceive,
};
inline constexpr int kCollectiveCount = 10;
// Bytes that a member shows at most in its slot: kCollect, kSpread, HostProtocol::kEager.
inline constexpr std::size_t kMostCollectedBytes = 32 * 1024;
const char* name_of(Collective collective);

// Which memory of a rank a range lies in. Scratch is this rank's own, as large as
// Plan::scratch_count; peers on the host can map all three. Input and output may be the same memory
// (in place): the same address for all_reduce, broadcast and reduce; for all_gather and gather
// (root) the input is this rank's piece of the output, for reduce_scatter and scatter (root) the
// output is this rank's piece of the input; all_to_all is never in place.
enum class Space : std::uint8_t { kInput, kOutput, kScratch };

struct Range {
  Space space = Space::kOutput;
  std::int64_t begin = 0;  // elements
  std::int64_t count = 0;
};

// The ways of kHostAllReduce, told in algorithms/host.cc.
enum class HostProtocol : std::uint8_t { kEager, kDirect, kStaged };

// Bytes of a vector that pass through the stages in one round of HostProtocol::kStaged. Rounds are
// few, because each ends in a wait, but a stage must stay in the L2 or L3 cache, and those of all
// ranks take tens of MiB at most. Two ranks, 4 MiB on Zen 4: 450 us in rounds of 256 KiB, 180 in
// rounds of 1 MiB, 250 in rounds of 2 MiB.
constexpr std::size_t stage_bytes(int ranks) {
  constexpr std::size_t kLeast = 256 << 10, kMost = 1 << 20, kOfAllRanks = 8 << 20;
  return std::clamp(kOfAllRanks / static_cast<std::size_t>(ranks) / 4096 * 4096, kLeast, kMost);
}

enum class StepKind : std::uint8_t {
  // Send `source` to `send_to` and at the same time receive `target` from `receive_from`; either
  // side may be absent (-1), one that is there has elements. With `reduce`, what arrives is folded
  // into `target`: target = target
  // op arrived, or arrived op target when `arrived_first`. `source` and `target` do not overlap,
  // but with `reduce` they may be the very same range: then what is sent is the content before the
  // fold, so the fold waits for the send.
  kExchange,
  // `source` to `target`, both mine; nothing when they are the same memory.
  kCopy,
  // Fold `source` of every member of `group`, in the group's order, and store the result in
  // `target` of the members listed in `store_to`.
  kReduceMapped,
  // `source`, mine, holds `parts` pieces of target.count elements one after the other: fold them in
  // that order, all at once (as kReduceMapped does: f16 rounds once), into `target`, mine.
  kReduceLocal,
  // Copy `source` of rank `receive_from`, which maps its memory to me, to my `target`.
  kReadMapped,
  // Nobody in `group` goes on before all have come here.
  kSync,
  // Small vectors, through memory of the library's own: every member of `group` shows `source`; the
  // member `receive_from` waits for all and folds them, in the group's order, into its `target`.
  // The
  // others go on at once. At most one collect and one spread in a plan, of one lane.
  kCollect,
  // The member `receive_from` of `group` shows `source` and goes on; the others wait for it and
  // copy
  // it to their `target`.
  kSpread,
  // The transport's own collective over `group` (MPI_Reduce_scatter, ncclAllReduce, ...); blocking,
  // so a plan with it has one lane. all_reduce: in place, source == target. reduce_scatter:
  // `source` holds the pieces of all members (`counts`), `target` gets mine; all_gather: the
  // reverse.
  kVendor,
  // All-reduce of `source` into `target` over `group`, all ranks of the plan, on one host, by
  // `protocol`; by `fallback` where a rank's memory is not the library's. Ranks meet in it even
  // without elements. The only step of its plan.
  kHostAllReduce,
};

struct Step {
  StepKind kind = StepKind::kExchange;
  bool reduce = false;
  bool arrived_first = false;
  // This fold completes the reduction of its range over all ranks of the plan: averages are divided
  // here.
  bool completes = false;
  int send_to = -1;
  int receive_from = -1;
  int group = -1;     // index in Plan::groups
  int parts = 0;      // kReduceLocal only
  int dimension = 0;  // of the grid, whose link it uses
  Range source;
  Range target;
  std::vector<int> store_to = {};                         // ranks, kReduceMapped only
  Collective vendor_collective = Collective::kAllReduce;  // kVendor only
  std::vector<std::int64_t> counts = {};         // kVendor only: elements of each member's piece
  HostProtocol protocol = HostProtocol::kEager;  // kHostAllReduce only, as the next
  HostProtocol fallback = HostProtocol::kEager;
};

// `input` and `output` cover what the lane's steps, and those of peers, read and write of this
// rank's buffers, so that memory which peers cannot map is staged lane by lane. Every element of
// `output` is written, none is read before; lanes of one plan do not overlap. No lanes: nothing to
// do (no elements).
struct Lane {
  std::vector<Step> steps;
  Range input{Space::kInput, 0, 0};
  Range output{Space::kOutput, 0, 0};
};

struct Plan {
  Collective collective = Collective::kAllReduce;
  int rank = 0;
  int ranks = 1;
  std::int64_t input_count = 0;  // elements this rank brings
  std::int64_t output_count = 0;
  std::int64_t scratch_count = 0;
  // Members in fold order. Those that sync are of one host: every rank on it lists the same ones
  // and passes the same number of syncs in each lane. Those of kVendor may span hosts; they come
  // last and are this rank's own.
  std::vector<std::vector<int>> groups;
  std::vector<Lane> lanes;
  std::string algorithm;  // e.g. "direct x ring", for people and traces

  // Ranks of a host meet, so a peer may map this rank's memory even where this rank maps none.
  bool uses_mapped_memory() const;
  // The step of a plan that is one kHostAllReduce, otherwise nullptr.
  const Step* host_all_reduce() const {
    const bool is_one = lanes.size() == 1 && lanes[0].steps.size() == 1;
    return is_one && lanes[0].steps[0].kind == StepKind::kHostAllReduce ? &lanes[0].steps[0]
                                                                        : nullptr;
  }
};

// What is asked for. All ranks of the plan pass the same request, but for the counts of all_to_all.
struct Request {
  Collective collective = Collective::kAllReduce;
  // Elements: of the vector (all_reduce, broadcast, reduce, send/receive); of what each rank sends
  // to each (all_to_all without `send_counts`); otherwise unused, see `counts`.
  std::int64_t count = 0;
  // Elements that belong to each rank: the pieces of reduce_scatter, all_gather, gather and
  // scatter. The whole is their concatenation in rank order.
  std::vector<std::int64_t> counts = {};
  // all_to_all when the amounts differ (on any rank: then all give them): what this rank sends to
  // and receives from each rank; both buffers are concatenations in rank order.
  std::vector<std::int64_t> send_counts = {};
  std::vector<std::int64_t> receive_counts = {};
  int root = 0;   // broadcast, reduce, gather, scatter; the sender of send/receive
  int peer = -1;  // the receiver of send/receive
  std::size_t element_bytes = 4;
  bool reproducible = false;       // fold strictly in rank order, whatever the grid and the count
  std::size_t eager_bytes = 1024;  // largest vector that one host reduces by host_eager
};

}  // namespace tutti::plan
