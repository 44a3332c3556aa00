#include "tutti/fusion/engine.h"

#include <utility>

#include "tutti/comm/base/require.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"
#include "tutti/fusion/internal/engine_impl.h"

namespace tutti::fusion {
namespace {

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

Coordinator::Settings settings_of(const comm::Communicator& communicator, const Options& options) {
  return {.radix = static_cast<int>(options.integer("radix")),
          .cache_entries = static_cast<std::size_t>(options.integer("cache_entries")),
          .buckets = {.bucket_bytes = static_cast<std::size_t>(options.integer("bucket_bytes")),
                      .cycle_ns = nanoseconds(1e-3 * options.number("cycle_ms")),
                      .window = static_cast<int>(options.integer("window"))},
          .stall_ns = nanoseconds(communicator.options().number("stall_seconds")),
          .timeout_ns = nanoseconds(communicator.options().number("timeout"))};
}

}  // namespace

EngineImpl::EngineImpl(comm::Communicator& communicator, const Options& options)
    : communicator_(communicator.split(0, communicator.rank())),
      pending_(communicator.size(), wakeup_, timeline_),
      executor_(*communicator_, pending_, timeline_, statistics_, wakeup_,
                options.flag("autotune") && communicator.rank() == 0),
      coordinator_(*communicator_, pending_, executor_, statistics_, wakeup_,
                   settings_of(communicator, options)) {
  if (!options.text("timeline").empty()) timeline_.start(options.text("timeline"));
}

// If the communicator has failed, report that failure to the peers instead of this rank's leave.
EngineImpl::~EngineImpl() {
  try {
    communicator_->check();
  } catch (const Error& error) {
    pending_.fail(Result::from(error), true);
  }
  stop_timeline();
  pending_.leave();
}

void EngineImpl::stop_timeline() {
  if (!timeline_.is_on()) return;
  try {
    pending_.submit({.name = "tutti.timeline.end", .kind = Kind::kTimeline}).work.wait();
  } catch (const Error& error) {
    log::warning("the timeline has this rank only: {}", error.what());
    try {
      timeline_.write_alone(communicator_->rank());
    } catch (const Error& second) {
      log::warning("{}", second.what());
    }
  }
}

void EngineImpl::check() const {
  pending_.check();
  communicator_->check();
}

Engine::Engine(comm::Communicator& communicator, const Options& options)
    : rank_(communicator.rank()),
      size_(communicator.size()),
      arena_(communicator.arena()),
      impl_(std::make_shared<EngineImpl>(communicator, options)) {}
Engine::~Engine() {
  shut_down();
}

void Engine::shut_down() {
  // In a forked child the threads do not exist, and one of them may have held the mutex.
  if (impl_ && impl_->communicator().is_forked_child()) {
    static_cast<void>(new std::shared_ptr<EngineImpl>(std::move(impl_)));
    return;
  }
  std::shared_ptr<EngineImpl> last;
  const MutexLock lock(mutex_);
  last.swap(impl_);
}

std::shared_ptr<EngineImpl> Engine::impl() const {
  const MutexLock lock(mutex_);
  comm::require(impl_ != nullptr, "The fusion engine was shut down: create a new one.");
  if (impl_->communicator().is_forked_child()) impl_->communicator().check();  // throws DDL-4-65
  return impl_;
}

Ticket Engine::submit(Call call) {
  return impl()->pending().submit(std::move(call));
}
comm::Work Engine::join(std::shared_ptr<int> last) {
  return impl()->pending().join(std::move(last));
}
void Engine::start_timeline(const std::string& file) {
  impl()->timeline().start(file);
}
comm::Work Engine::stop_timeline() {
  return submit({.name = "tutti.timeline.stop", .kind = Kind::kTimeline}).work;
}
void Engine::check() const {
  impl()->check();
}
EngineStatistics Engine::statistics() const {
  return impl()->statistics();
}

}  // namespace tutti::fusion
