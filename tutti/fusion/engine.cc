// What callers see; the two threads are in internal/talk.cc and internal/work.cc.
#include "tutti/fusion/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tutti/comm/base/require.h"
#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/fusion/internal/engine_impl.h"

namespace tutti::fusion {
namespace {

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

BucketQueue::Settings settings_of(const Options& options) {
  return {.bucket_bytes = static_cast<std::size_t>(options.integer("bucket_bytes")),
          .cycle_ns = nanoseconds(1e-3 * options.number("cycle_ms")),
          .window = static_cast<int>(options.integer("window"))};
}

// Samples of this length are long enough to be stable, and short enough to be done in minutes.
constexpr std::size_t kSampleBytes = 32 << 20;
constexpr double kSampleSeconds = 0.2;

}  // namespace

EngineImpl::EngineImpl(comm::Communicator& communicator, const Options& options)
    : communicator_(communicator.split(0, communicator.rank())),
      place_(communicator_->rank(), communicator_->size(),
             static_cast<int>(options.integer("radix"))),
      stall_ns_(nanoseconds(communicator.options().number("stall_seconds"))),
      timeout_ns_(nanoseconds(communicator.options().number("timeout"))),
      negotiator_(place_, static_cast<std::size_t>(options.integer("cache_entries"))),
      plane_(communicator_->wire(), comm::Communicator::kOwnChannel, place_),
      queue_(settings_of(options)),
      child_has_ended_(place_.children.size()),
      runner_(*communicator_, timeline_) {
  if (options.flag("autotune") && place_.parent < 0)
    tuner_.emplace(Autotuner::Point{}, kSampleBytes, kSampleSeconds);
  if (!options.text("timeline").empty()) timeline_.start(options.text("timeline"));
  talker_ = std::thread([this] { talk(); });
  worker_ = std::thread([this] { work(); });
}

// Where the communicator has failed, the others learn that, and not that this rank left.
EngineImpl::~EngineImpl() {
  try {
    communicator_->check();
  } catch (const Error& error) {
    fail(Result::from(error), true);
  }
  stop_timeline_at_end();
  {
    const std::lock_guard lock(mutex_);
    is_leaving_ = true;
    wake_talker();
  }
  talker_.join();
  worker_.join();
}

void EngineImpl::stop_timeline_at_end() {
  if (!timeline_.is_on()) return;
  try {
    submit({.name = "tutti.timeline.end", .kind = Kind::kTimeline}).work.wait();
  } catch (const Error& error) {
    log::warning("the timeline has this rank only: {}", error.what());
    try {
      timeline_.write_alone(place_.rank);
    } catch (const Error& second) {
      log::warning("{}", second.what());
    }
  }
}

Ticket EngineImpl::submit(Call call) {
  auto entry = std::make_shared<Entry>();
  entry->signature = signature_of(call, place_.size);
  entry->submitted_ns = now_ns();
  if (call.kind == Kind::kAllGather || call.kind == Kind::kAllToAll)
    entry->gathered = std::make_shared<Gathered>();
  entry->call = std::move(call);
  const std::string& name = entry->call.name;
  const std::lock_guard lock(mutex_);
  failure_.raise();
  comm::require(!join_work_,
                "Tensor '{}' was given after `join`: wait until all ranks have joined.", name);
  const auto is_twin = [&](const Entry& other) {
    return other.call.name == name && other.call.kind == entry->call.kind;
  };
  const auto under_way = entries_.find(name);
  if ((under_way != entries_.end() && is_twin(*under_way->second)) ||
      std::ranges::any_of(held_back_, [&](const auto& other) { return is_twin(*other); })) {
    throw ConfigError("DDL-4-75", fmt::format("A tensor '{}' is still under way: wait for it "
                                              "first, or give this one another name.",
                                              name));
  }
  ++not_released_;
  if (under_way == entries_.end()) {
    tell(entry);
  } else {
    held_back_.push_back(entry);
  }
  return {comm::Work(entry->work), entry->gathered};
}

void EngineImpl::tell(const std::shared_ptr<Entry>& entry) {
  const Call& call = entry->call;
  entries_.emplace(call.name, entry);
  submitted_.push_back({.name = call.name,
                        .signature = entry->signature,
                        .priority = call.priority,
                        .is_kept = call.is_kept});
  wake_talker();
}

void EngineImpl::tell_next_of(const std::string& name) {
  const auto next =
      std::ranges::find_if(held_back_, [&](const auto& entry) { return entry->call.name == name; });
  if (next == held_back_.end()) return;
  tell(*next);
  held_back_.erase(next);
}

// Once is enough until it has looked: waking a thread costs more than giving a tensor.
void EngineImpl::wake_talker() {
  if (!std::exchange(has_news_, true)) talk_changed_.notify_all();
}

comm::Work EngineImpl::join(std::shared_ptr<int> last) {
  const std::lock_guard lock(mutex_);
  failure_.raise();
  comm::require(!join_work_, "This rank has joined already: wait until all ranks have.");
  join_work_ = std::make_shared<comm::Work::State>();
  last_joined_ = std::move(last);
  is_joining_ = true;
  wake_talker();
  return comm::Work(join_work_);
}

void EngineImpl::complete(const std::shared_ptr<Entry>& entry, const Result& outcome) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(entry->call.name);
    if (found != entries_.end() && found->second == entry) {
      entries_.erase(found);
      tell_next_of(entry->call.name);
    }
    if (!entry->is_released) --not_released_;
  }
  // Last: whoever sees it complete may use the name and the buffers again.
  entry->work->complete(outcome);
}

void EngineImpl::fail(const Result& failure, bool is_final) {
  std::vector<std::shared_ptr<Entry>> ending;
  std::shared_ptr<comm::Work::State> join_work;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) failure_ = failure;
    has_failed_ |= is_final;
    for (const auto& [name, entry] : entries_) {
      if (!entry->is_released) ending.push_back(entry);
    }
    ending.insert(ending.end(), held_back_.begin(), held_back_.end());
    held_back_.clear();
    join_work = std::exchange(join_work_, nullptr);
    talk_changed_.notify_all();
    work_changed_.notify_all();
  }
  for (const auto& entry : ending) complete(entry, failure);
  if (join_work) join_work->complete(failure);
}

void EngineImpl::check() const {
  {
    const std::lock_guard lock(mutex_);
    failure_.raise();
  }
  communicator_->check();
}

EngineStatistics EngineImpl::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
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
  if (impl_ && impl_->communicator().is_forked_child()) {  // the threads are the parent's
    static_cast<void>(new std::shared_ptr<EngineImpl>(std::move(impl_)));
    return;
  }
  std::shared_ptr<EngineImpl> last;
  const std::lock_guard lock(mutex_);
  last.swap(impl_);
}

std::shared_ptr<EngineImpl> Engine::impl() const {
  const std::lock_guard lock(mutex_);
  comm::require(impl_ != nullptr, "The fusion engine was shut down: make a new one.");
  if (impl_->communicator().is_forked_child()) impl_->communicator().check();  // throws DDL-4-65
  return impl_;
}

Ticket Engine::submit(Call call) {
  return impl()->submit(std::move(call));
}
comm::Work Engine::join(std::shared_ptr<int> last) {
  return impl()->join(std::move(last));
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
