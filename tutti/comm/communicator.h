// Collectives over the ranks of a job. The door of the library: callers need no other header of
// comm but work.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/comm/call_options.h"
#include "tutti/comm/options.h"
#include "tutti/comm/work.h"
#include "tutti/core/buffer.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

class Arena;
struct CommunicatorState;
class Transport;
class Wire;
class WorkQueue;

// A group of ranks that communicate. No global state: several live in one process, and in tests
// each rank is a thread.
//
// Every rank of the group must make the same calls in the same order, with the same count, dtype,
// op, root and name; a mismatch throws CommError on every rank and names both sides. A rank that
// does not come is named after `stall_seconds`; the call throws TimeoutError after `timeout`, and
// CommError as soon as a rank is known to be dead. After any such error the communicator is of no
// more use: every later call throws the same.
//
// Blocking calls return when the result is there; `..._async` ones return at once and run, in the
// order they were given, in the communicator's queue. Input and output may be the same memory
// or must not overlap. Buffers must live until the operation is complete. Library memory
// (`allocate`) is reduced in place at the speed of memory; any other memory works too. Calls may
// come from any thread, one at a time.
class Communicator {
 public:
  // Collective over all ranks of the transport, which it keeps.
  static std::unique_ptr<Communicator> create(std::shared_ptr<Transport> transport,
                                              const Options& options = Options(comm_options()));
  // For processes started by ddlrun, mpirun, srun or with RANK and WORLD_SIZE; one rank when there
  // is nothing of that.
  static std::unique_ptr<Communicator> from_environment(
      const Options& options = environment_options());
  // Waits for this rank's asynchronous operations, then leaves. Peers that still wait for it fail.
  ~Communicator();

  int rank() const;
  int size() const;
  int local_rank() const;  // among the ranks of this host
  int local_size() const;
  const topo::Layout& layout() const;
  const topo::Grid& grid() const;
  // As given, with what was measured in the place of defaults.
  const Options& options() const;
  // Whether this process was forked from that of the communicator. Then every call throws
  // ConfigError DDL-4-65, and the destructor does nothing.
  bool is_forked_child() const;
  // Throws what a rank of this communicator has failed with, if any: for ranks that compute for
  // long between calls.
  void check() const;
  // This rank cannot go on: every call of every rank of the job fails with these words, and nobody
  // waits for it any more.
  void abandon(const std::string& reason);
  // What was chosen and why, for people: dimensions, algorithm per size class.
  std::string description() const;

  // Memory that all ranks of the host can map. `usable`, when given, receives the usable bytes, at
  // least `bytes`. Throws MemoryError when there is not enough. Not collective; safe from every
  // thread.
  void* allocate(std::size_t bytes, std::size_t alignment = 64, std::size_t* usable = nullptr);
  void free(void* address);
  // Where `allocate` takes it from. Whoever keeps the arena keeps its memory, also when the
  // communicator is gone.
  std::shared_ptr<Arena> arena() const;

  // Ranks of one colour become a communicator of their own, ordered by key, then rank. Collective.
  // A negative colour gives nullptr.
  std::unique_ptr<Communicator> split(int color, int key = 0);
  // The same for the ranks named, in this order; only they call. Ranks that are in several groups
  // must make them in the same order.
  std::unique_ptr<Communicator> group(std::span<const int> ranks);

  void all_reduce(Buffer buffer, ReduceOp op = ReduceOp::kSum, const CallOptions& call = {});
  void all_reduce(ConstBuffer input, Buffer output, ReduceOp op = ReduceOp::kSum,
                  const CallOptions& call = {});
  // Pieces go by rank: rank r receives `counts[r]` elements (empty: equal pieces of output.count).
  void reduce_scatter(ConstBuffer input, Buffer output, ReduceOp op = ReduceOp::kSum,
                      std::span<const std::int64_t> counts = {}, const CallOptions& call = {});
  void all_gather(ConstBuffer input, Buffer output, std::span<const std::int64_t> counts = {},
                  const CallOptions& call = {});
  void broadcast(Buffer buffer, int root, const CallOptions& call = {});
  // The output counts on the root only; elsewhere it may be empty.
  void reduce(ConstBuffer input, Buffer output, ReduceOp op, int root,
              const CallOptions& call = {});
  void gather(ConstBuffer input, Buffer output, int root, std::span<const std::int64_t> counts = {},
              const CallOptions& call = {});
  // The input counts on the root only.
  void scatter(ConstBuffer input, Buffer output, int root,
               std::span<const std::int64_t> counts = {}, const CallOptions& call = {});
  // `send_counts[r]` elements go to rank r, `receive_counts[r]` come from it (both empty: equal
  // pieces).
  void all_to_all(ConstBuffer input, Buffer output, std::span<const std::int64_t> send_counts = {},
                  std::span<const std::int64_t> receive_counts = {}, const CallOptions& call = {});
  void barrier(const CallOptions& call = {});

  Work all_reduce_async(ConstBuffer input, Buffer output, ReduceOp op = ReduceOp::kSum,
                        const CallOptions& call = {});
  Work reduce_scatter_async(ConstBuffer input, Buffer output, ReduceOp op = ReduceOp::kSum,
                            std::span<const std::int64_t> counts = {},
                            const CallOptions& call = {});
  Work all_gather_async(ConstBuffer input, Buffer output, std::span<const std::int64_t> counts = {},
                        const CallOptions& call = {});
  Work broadcast_async(Buffer buffer, int root, const CallOptions& call = {});
  Work barrier_async(const CallOptions& call = {});

  // Between two ranks only; messages of one tag arrive in order, those of different tags in any
  // order. 0 <= tag. The receiver must name exactly what was sent, or both sides' counts and types
  // are named in the CommError. A message that arrives before its receive, behind one whose tag is
  // equal modulo kTags, is buffered.
  static constexpr int kTags = 120;
  Work send_async(ConstBuffer buffer, int peer, int tag = 0);
  Work receive_async(Buffer buffer, int peer, int tag = 0);
  // From whichever rank sends first with this tag; `*peer` says which once the work is complete.
  Work receive_any_async(Buffer buffer, int* peer, int tag = 0);
  void send(ConstBuffer buffer, int peer, int tag = 0);
  void receive(Buffer buffer, int peer, int tag = 0);

  // For parts of comm with messages of their own: ranks are those of this communicator, the
  // channels kOwnChannel to kOwnChannel + 7. Safe from every thread.
  static constexpr int kOwnChannel = 248;
  Wire& wire();
  // The queue of the asynchronous calls, for operations made of several calls: those of a task run
  // as parts of it.
  const std::shared_ptr<WorkQueue>& queue() const;

 private:
  explicit Communicator(std::unique_ptr<CommunicatorState> state);
  Work start_compressed(ConstBuffer input, Buffer output, ReduceOp op, const CallOptions& call);
  void check_message(int peer, int tag) const;
  std::unique_ptr<CommunicatorState> state_;
};

}  // namespace tutti::comm
