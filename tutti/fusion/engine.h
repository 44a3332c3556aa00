// Reduces named tensors in the background, while the program computes the next ones. Ranks may give
// theirs in any order; the engine finds out what is ready everywhere, fuses small tensors, and lets
// those that are needed first go first.
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

// Two threads: one talks with the neighbours in the tree, one runs the buckets.
//
// Errors. A call that cannot be throws ConfigError at once. Ranks that disagree about a tensor fail
// with CommError DDL-4-71 for this tensor only. A tensor that somebody lacks is told with the
// missing ranks after `stall_seconds` of the communicator's options (DDL-4-72), and fails with
// TimeoutError DDL-4-73 after `timeout`. When the communicator fails, everything here fails with
// it. All functions are safe from every thread.
class Engine {
 public:
  // Collective. The engine works on a communicator of its own that it splits off.
  explicit Engine(comm::Communicator& communicator,
                  const Options& options = Options(fusion_options()));
  // As shut_down.
  ~Engine();
  // Collective: waits until all ranks come here, however long that takes, or one has failed.
  // Tensors of other ranks that need this one fail as soon as it is here (DDL-4-74), and so do its
  // own that are not under way. Every later call throws ConfigError; memory stays. Does nothing in
  // a forked child.
  void shut_down() TUTTI_NO_THREAD_SAFETY_ANALYSIS;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // The buffers must live, and the inputs stay unchanged, until the work is complete. Throws
  // ConfigError when a tensor of the same name and kind is still under way; one of another kind
  // goes when that is through.
  Ticket submit(Call call);
  // This rank has no more data: until all ranks have joined it brings zeros to what the others
  // reduce, and no rows to what they gather; averages still divide by the number of all ranks.
  // Complete when all have joined; `last`, when given, then has the rank that was last.
  comm::Work join(std::shared_ptr<int> last = nullptr);

  // Memory from here is reduced without a copy. It lives as long as somebody keeps the arena.
  std::shared_ptr<comm::Arena> arena() const { return arena_; }

  // Everything from here on, of all ranks that call it, goes into one file.
  void start_timeline(const std::string& file);
  // All ranks must call it; the file is there when it is complete.
  comm::Work stop_timeline();
  // Throws what a rank has failed with, if any.
  void check() const;
  EngineStatistics statistics() const;

 private:
  // Throws after shut_down.
  std::shared_ptr<EngineImpl> impl() const;

  const int rank_, size_;
  const std::shared_ptr<comm::Arena> arena_;
  mutable Mutex mutex_;
  std::shared_ptr<EngineImpl> impl_ TUTTI_GUARDED_BY(mutex_);  // none: shut down
};

}  // namespace tutti::fusion
