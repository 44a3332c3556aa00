// Fusion engine: reduces named tensors in the background while the program computes the next ones. Ranks may submit
// tensors in any order. The engine determines which tensors are ready on all ranks, fuses small tensors and executes
// tensors that are needed first with priority.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tutti/comm/communicator.h"
#include "tutti/core/mutex.h"
#include "tutti/core/options.h"
#include "tutti/fusion/call.h"
#include "tutti/fusion/engine_statistics.h"
#include "tutti/fusion/options.h"

namespace tutti::fusion {

class EngineImpl;

// The engine uses two threads: one negotiates with the neighbours in the tree, one executes the buckets. All
// functions are thread-safe.
//
// Errors:
// - An invalid call throws ConfigError at once.
// - If ranks disagree about a tensor, only this tensor fails, with CommError DDL-4-71.
// - If some ranks do not submit a tensor, a warning names them after `stall_seconds` of the communicator's options
//   (DDL-4-72). After `timeout` the tensor fails with TimeoutError DDL-4-73.
// - If the communicator fails, all pending and later calls fail with its error.
class Engine {
 public:
  // Collective. The engine splits off a separate communicator.
  explicit Engine(comm::Communicator& communicator,
                  const Options& options = Options(fusion_options()));
  // Calls shut_down.
  ~Engine();
  // Collective: blocks without a time limit until all ranks have called it or one has failed. Tensors of other ranks
  // that need this rank fail at once (DDL-4-74), and so do this rank's tensors that are not in flight. Later calls
  // throw ConfigError. The arena stays valid. No effect in a forked child.
  void shut_down() TUTTI_NO_THREAD_SAFETY_ANALYSIS;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Submits a tensor or group. The buffers must stay alive and the inputs unchanged until the returned work completes.
  // Throws ConfigError if a tensor of the same name and kind is still in flight; one of the same name but another kind
  // is started when the first completes.
  Ticket submit(Call call);
  // Declares that this rank has no more data. Until all ranks have joined, it contributes zeros to reductions and no
  // rows to gathers; averages are still divided by the number of all ranks. The work completes when all ranks have
  // joined; `last`, if not null, then holds the rank that joined last.
  comm::Work join(std::shared_ptr<int> last = nullptr);

  // Memory allocated from this arena is reduced without a copy. It stays valid as long as the arena is referenced.
  std::shared_ptr<comm::Arena> arena() const { return arena_; }

  // Starts recording; the events of all ranks that call it are written to one file.
  void start_timeline(const std::string& file);
  // Must be called by all ranks. The file is complete when the work is.
  comm::Work stop_timeline();
  // Throws the error that a rank has failed with, if any.
  void check() const;
  EngineStatistics statistics() const;

 private:
  // Throws after shut_down.
  std::shared_ptr<EngineImpl> impl() const;

  const int rank_, size_;
  const std::shared_ptr<comm::Arena> arena_;
  mutable Mutex mutex_;
  std::shared_ptr<EngineImpl> impl_ TUTTI_GUARDED_BY(mutex_);  // null: shut down
};

}  // namespace tutti::fusion
