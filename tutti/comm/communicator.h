// Collectives over the ranks of a job. Entry point of the library: callers need no other header of comm except work.h.
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

// A group of ranks that communicate. There is no global state: a process can have several communicators, and in tests
// each rank is a thread.
//
// Every rank of the group must make the same calls in the same order, with the same count, dtype, op, root and name. A
// mismatch throws CommError on every rank and names both sides. Missing ranks are reported after `stall_seconds`. The
// call throws TimeoutError after `timeout`, and CommError as soon as a rank is known to be dead. After any such error
// the communicator is unusable: every later call throws the same error.
//
// Blocking calls return when the result is available. `..._async` calls return immediately and run in the queue of the
// communicator, in the order of submission. Input and output must be the same memory or must not overlap. Buffers must
// stay alive until the operation is complete. Library-allocated memory (`allocate`) is reduced in place at memory
// bandwidth; any other memory also works. Calls may come from any thread, one at a time.
class Communicator {
 public:
  // Collective over all ranks of the transport, which the communicator keeps alive.
  static std::unique_ptr<Communicator> create(std::shared_ptr<Transport> transport,
                                              const Options& options = Options(comm_options()));
  // For processes started by ddlrun, mpirun, srun, or with RANK and WORLD_SIZE. Without any of these, a job of one
  // rank.
  static std::unique_ptr<Communicator> from_environment(
      const Options& options = environment_options());
  // Waits for the asynchronous operations of this rank, then leaves. Peers that still wait for this rank fail.
  ~Communicator();

  int rank() const;
  int size() const;
  int local_rank() const;  // rank among the ranks of this host
  int local_size() const;
  const topo::Layout& layout() const;
  const topo::Grid& grid() const;
  // The given options, with measured values instead of defaults.
  const Options& options() const;
  // True in a process forked from the one that created the communicator. There every call throws ConfigError DDL-4-65,
  // and the destructor does nothing.
  bool is_forked_child() const;
  // Throws the failure of any rank of this communicator. For ranks that compute for a long time between calls.
  void check() const;
  // Aborts the job: every call of every rank fails with this message, and no rank waits for this one any longer.
  void abandon(const std::string& reason);
  // Human-readable summary of the selection: dimensions, and the algorithm per size class.
  std::string description() const;

  // Allocates memory that all ranks of the host can map. `usable` receives the usable bytes, at least `bytes`. Throws
  // MemoryError if there is not enough memory. Not collective. Thread-safe.
  void* allocate(std::size_t bytes, std::size_t alignment = 64, std::size_t* usable = nullptr);
  void free(void* address);
  // The arena of `allocate`. It keeps its memory alive, even after the communicator is destroyed.
  std::shared_ptr<Arena> arena() const;

  // Creates one communicator per colour, with ranks ordered by key, then rank. Collective. Returns nullptr for a
  // negative colour.
  std::unique_ptr<Communicator> split(int color, int key = 0);
  // The same for the given ranks, in this order. Only these ranks call it. Ranks that are in several groups must create
  // them in the same order.
  std::unique_ptr<Communicator> group(std::span<const int> ranks);

  void all_reduce(Buffer buffer, ReduceOp op = ReduceOp::kSum, const CallOptions& call = {});
  void all_reduce(ConstBuffer input, Buffer output, ReduceOp op = ReduceOp::kSum,
                  const CallOptions& call = {});
  // Rank r receives `counts[r]` elements; empty: equal pieces of output.count elements.
  void reduce_scatter(ConstBuffer input, Buffer output, ReduceOp op = ReduceOp::kSum,
                      std::span<const std::int64_t> counts = {}, const CallOptions& call = {});
  void all_gather(ConstBuffer input, Buffer output, std::span<const std::int64_t> counts = {},
                  const CallOptions& call = {});
  void broadcast(Buffer buffer, int root, const CallOptions& call = {});
  // The output is used only on the root; elsewhere it may be empty.
  void reduce(ConstBuffer input, Buffer output, ReduceOp op, int root,
              const CallOptions& call = {});
  void gather(ConstBuffer input, Buffer output, int root, std::span<const std::int64_t> counts = {},
              const CallOptions& call = {});
  // The input is used only on the root.
  void scatter(ConstBuffer input, Buffer output, int root,
               std::span<const std::int64_t> counts = {}, const CallOptions& call = {});
  // Sends `send_counts[r]` elements to rank r and receives `receive_counts[r]` from it; both empty: equal pieces.
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

  // Point-to-point messages. Messages with the same tag arrive in order, those with different tags in any order. `tag`
  // must not be negative. Count and type must match on both sides; otherwise CommError names both. A message that
  // arrives before its receive is buffered if an earlier one with an equal tag modulo kTags is still pending.
  static constexpr int kTags = 120;
  Work send_async(ConstBuffer buffer, int peer, int tag = 0);
  Work receive_async(Buffer buffer, int peer, int tag = 0);
  // Receives from the first rank that sends with this tag; `*peer` is set when the work is complete.
  Work receive_any_async(Buffer buffer, int* peer, int tag = 0);
  void send(ConstBuffer buffer, int peer, int tag = 0);
  void receive(Buffer buffer, int peer, int tag = 0);

  // For components that exchange their own messages: ranks of this communicator, channels kOwnChannel to kOwnChannel +
  // 6 (the next one is used by group()). Thread-safe.
  static constexpr int kOwnChannel = 248;
  Wire& wire();
  // Queue of the asynchronous calls, for operations that consist of several calls. Calls made in a task run as part of
  // it.
  const std::shared_ptr<WorkQueue>& queue() const;

 private:
  explicit Communicator(std::unique_ptr<CommunicatorState> state);
  Work start_compressed(ConstBuffer input, Buffer output, ReduceOp op, const CallOptions& call);
  void check_message(int peer, int tag) const;
  std::unique_ptr<CommunicatorState> state_;
};

}  // namespace tutti::comm
