// Collective plans: a collective operation as data, step by step, for one rank.
//
// plan/algorithms builds plans, comm executes them on real transports and verify.h executes them on symbolic values.
// Tests assert the documented steps and bytes on the plan itself.
//
// - A *step* is one action of a rank: a message exchange, a copy, a reduction, a synchronisation.
// - A *lane* is a sequence of steps over one chunk of the data. Lanes are independent, so the network transfers of one
//   lane overlap with the memory accesses of another.
// - A *group* is a set of ranks on one host that map each other's memory and synchronise with each other.
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
// Largest message, in bytes, that fits into a member's shared slot: kLeaderReduce, kLeaderBroadcast,
// HostProtocol::kEager.
inline constexpr std::size_t kMaxSlotBytes = 32 * 1024;
const char* name_of(Collective collective);

// Memory spaces of a rank. Scratch is private to the plan and holds Plan::scratch_count elements. Peers on the same
// host can map all three. Input and output may share memory (in place):
// - all_reduce, broadcast, reduce: same address;
// - all_gather, gather (root): the input is this rank's piece of the output;
// - reduce_scatter, scatter (root): the output is this rank's piece of the input;
// - all_to_all: never in place.
enum class Space : std::uint8_t { kInput, kOutput, kScratch };

struct Range {
  Space space = Space::kOutput;
  std::int64_t begin = 0;  // elements
  std::int64_t count = 0;
};

// Protocols of kHostAllReduce; algorithms/host.cc describes them.
enum class HostProtocol : std::uint8_t { kEager, kDirect, kStaged };

// Bytes of a vector that pass through the stages in one round of HostProtocol::kStaged. Each round ends in a wait, so
// rounds should be large; but a stage must stay in the L2 or L3 cache, and the stages of all ranks should take at most
// tens of MiB. Two ranks, 4 MiB on Zen 4: 450 us in rounds of 256 KiB, 180 us in rounds of 1 MiB, 250 us in rounds of 2
// MiB.
constexpr std::size_t stage_bytes(int ranks) {
  constexpr std::size_t kLeast = 256 << 10, kMost = 1 << 20, kOfAllRanks = 8 << 20;
  return std::clamp(kOfAllRanks / static_cast<std::size_t>(ranks) / 4096 * 4096, kLeast, kMost);
}

enum class StepKind : std::uint8_t {
  // Sends `source` to `send_to` and concurrently receives `target` from `receive_from`. Either side may be absent (-1);
  // a side that is present is not empty. With `reduce`, received data is reduced into the target: target = target op
  // arrived, or arrived op target if `arrived_first`. `source` and `target` do not overlap, except that with `reduce`
  // they may be the same range. Then the data before the reduction is sent, so the reduction waits for the send.
  kExchange,
  // Copies `source` to `target`, both of this rank; no effect if they are the same memory.
  kCopy,
  // Reduces `source` of every member of `group`, in the group's order, and stores the result in `target` of the members
  // listed in `store_to`.
  kReduceMapped,
  // `source` of this rank holds `parts` consecutive pieces of target.count elements. Reduces them in that order, in a
  // single pass (f16 is rounded once, as in kReduceMapped), into `target` of this rank.
  kReduceLocal,
  // Copies `source` of rank `receive_from`, whose memory this rank maps, to `target` of this rank.
  kReadMapped,
  // Barrier: no member of `group` continues until all members have reached it.
  kHostBarrier,
  // Small vectors, through library-allocated shared slots. Every member of `group` publishes `source`. The member
  // `receive_from` waits for all and reduces them, in the group's order, into its `target`; the other members continue
  // at once. A plan has at most one kLeaderReduce and one kLeaderBroadcast, and then only one lane.
  kLeaderReduce,
  // The member `receive_from` of `group` publishes `source` and continues; the other members wait for it and copy it to
  // their `target`.
  kLeaderBroadcast,
  // Native collective of the transport over `group` (MPI_Reduce_scatter, ncclAllReduce, ...). It blocks, so a plan
  // that uses it has one lane.
  // - all_reduce: in place, source == target;
  // - reduce_scatter: `source` holds the pieces of all members (`counts`), `target` receives this rank's piece;
  // - all_gather: the reverse.
  kVendor,
  // All-reduce of `source` into `target` over `group`, which holds all ranks of the plan, on one host. Uses `protocol`,
  // or `fallback` if the buffer of any rank is caller-allocated. All ranks synchronise in it even if the range is
  // empty. It is the only step of its plan.
  kHostAllReduce,
};

struct Step {
  StepKind kind = StepKind::kExchange;
  bool reduce = false;
  bool arrived_first = false;
  // This reduction completes the result of its range over all ranks of the plan; averages are divided here.
  bool completes = false;
  int send_to = -1;
  int receive_from = -1;
  int group = -1;     // index in Plan::groups
  int parts = 0;      // kReduceLocal only
  int dimension = 0;  // dimension of the grid whose link the step uses
  Range source;
  Range target;
  std::vector<int> store_to = {};                         // ranks, kReduceMapped only
  Collective vendor_collective = Collective::kAllReduce;  // kVendor only
  std::vector<std::int64_t> counts = {};         // kVendor only: elements of each member's piece
  HostProtocol protocol = HostProtocol::kEager;  // this and the next: kHostAllReduce only
  HostProtocol fallback = HostProtocol::kEager;
};

// A chunk of the collective. `input` and `output` cover all elements of this rank's buffers that the steps of the lane,
// on this rank and on its peers, read and write, so buffers that peers cannot map are staged lane by lane. Every
// element of `output` is written and none is read before that. Lanes of one plan do not overlap. A plan without
// elements has no lanes.
struct Lane {
  std::vector<Step> steps;
  Range input{Space::kInput, 0, 0};
  Range output{Space::kOutput, 0, 0};
};

// The steps of one rank for one collective.
struct Plan {
  Collective collective = Collective::kAllReduce;
  int rank = 0;
  int ranks = 1;
  std::int64_t input_count = 0;  // elements of this rank's input
  std::int64_t output_count = 0;
  std::int64_t scratch_count = 0;
  // Members of each group in reduction order. Groups that synchronise are within one host: every rank of the host lists
  // the same groups and executes the same number of host barriers in each lane. Groups of kVendor may span hosts; they
  // come last and differ between ranks.
  std::vector<std::vector<int>> groups;
  std::vector<Lane> lanes;
  std::string algorithm;  // e.g. "direct x ring", for logs and traces

  // True if a peer may map this rank's memory, even if this rank maps none.
  bool uses_mapped_memory() const;
  // Returns the step of a plan that consists of one kHostAllReduce, otherwise nullptr.
  const Step* host_all_reduce() const {
    const bool is_one = lanes.size() == 1 && lanes[0].steps.size() == 1;
    return is_one && lanes[0].steps[0].kind == StepKind::kHostAllReduce ? &lanes[0].steps[0]
                                                                        : nullptr;
  }
};

// Description of a collective call. All ranks pass the same request, except for the counts of all_to_all.
struct Request {
  Collective collective = Collective::kAllReduce;
  // Elements of the vector (all_reduce, broadcast, reduce, send/receive), or elements each rank sends to each other
  // rank (all_to_all without `send_counts`). Unused otherwise; see `counts`.
  std::int64_t count = 0;
  // Elements of each rank's piece (reduce_scatter, all_gather, gather, scatter). The full buffer is the concatenation
  // of the pieces in rank order.
  std::vector<std::int64_t> counts = {};
  // all_to_all with varying counts: elements this rank sends to and receives from each rank. If one rank passes them,
  // all must. Both buffers are concatenations in rank order.
  std::vector<std::int64_t> send_counts = {};
  std::vector<std::int64_t> receive_counts = {};
  int root = 0;   // broadcast, reduce, gather, scatter; the sender of send/receive
  int peer = -1;  // the receiver of send/receive
  std::size_t element_bytes = 4;
  bool reproducible = false;       // reduce strictly in rank order for any grid and count
  std::size_t eager_bytes = 1024;  // largest message for which a single host uses host_eager
};

}  // namespace tutti::plan
