// A collective as data: what one rank does, step by step, over ranges of elements. Built by
// plan/algorithms, run by comm on real transports and by sim in virtual time; tests assert on it
// what the documentation claims.
//
// Words. A *step* is one thing a rank does. A *lane* is a sequence of steps over one chunk of the
// data; lanes do not depend on each other, so the network of one works while the memory of another
// does. A *group* is a set of ranks on one host that map each other's memory and meet in syncs.
#pragma once

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
inline constexpr std::size_t kMostCollectedBytes =
    32 * 1024;  // of a member, by kCollect or kSpread
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
  std::vector<std::int64_t> counts = {};  // kVendor only: elements of each member's piece
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
  bool reproducible = false;  // fold strictly in rank order, whatever the grid and the count
};

}  // namespace tutti::plan
