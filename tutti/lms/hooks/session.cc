#include "tutti/lms/hooks/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/lms/pager/fault_handler.h"
#include "tutti/lms/planner.h"
#include "tutti/os/memory.h"

namespace tutti::lms {
namespace {

// Plans for new traces up to this number; afterwards only for traces that were seen before.
constexpr int kEagerPlans = 16;
constexpr std::size_t kMostTraces = 64;
constexpr std::int64_t kCalibrationBlock = 4 << 20;
constexpr int kCalibrationBlocks = 8;

// Bandwidth of the swap file, measured by moving a few blocks.
Tier measure_tier(Pager& pager) {
  const std::int64_t blocks =
      std::min<std::int64_t>(kCalibrationBlocks, pager.budget() / kCalibrationBlock / 2);
  if (blocks == 0) return {};
  std::vector<std::byte*> memory;
  std::vector<BlockRef> refs;
  for (std::int64_t i = 0; i < blocks; ++i) {
    memory.push_back(pager.allocate(kCalibrationBlock));
    for (std::int64_t at = 0; at < kCalibrationBlock; at += 64)
      memory.back()[at] = static_cast<std::byte>(at);
    refs.push_back(pager.find(memory.back()));
  }
  Tier tier;
  const auto bytes = static_cast<double>(blocks * kCalibrationBlock);
  const Stopwatch writes;
  for (const BlockRef& ref : refs) pager.page_out(ref);
  for (const BlockRef& ref : refs) pager.finish_page_out(ref);
  tier.write_bandwidth = bytes / writes.seconds();
  const Stopwatch reads;
  pager.pin(refs);
  tier.read_bandwidth = bytes / reads.seconds();
  for (std::byte* each : memory) pager.free(each);
  return tier;
}

bool is_backward(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function");
}

}  // namespace

struct Session::ThreadScopes {
  struct Frame {
    std::size_t first_pin;
    bool is_transparent;
  };
  const Session* session = nullptr;  // that the frames belong to
  std::vector<Frame> frames;
  int depth = 0;                    // of frames that are not transparent
  std::vector<BlockRef> pins;       // of all frames
  std::vector<BlockRef> allocated;  // by the outermost operator
  std::string name;                 // of the outermost operator
  std::exception_ptr error;         // of a pin, for the next allocation
};

Session::ThreadScopes& Session::scopes() const {
  thread_local ThreadScopes scopes;
  if (scopes.session != this) {  // operators may still run when a session ends
    scopes = {};
    scopes.session = this;
  }
  return scopes;
}

Session::Session(const SessionOptions& options)
    : options_(options), process_(::getpid()), pager_(options.pager) {
  options_.planner.budget = options.pager.budget;
  if (options_.plans) options_.planner.tier = measure_tier(pager_);
  if (options_.handles_faults) serve_faults(pager_);
}

double Session::time() const {
  return static_cast<double>(now_ns()) * 1e-9 - pager_.waited();
}

void Session::start() {
  const MutexLock lock(mutex_);
  recorder_.begin_step(time());
  step_start_ = time();
  step_before_ = pager_.statistics();
  is_running_ = true;
}

void Session::stop() {
  is_running_ = false;
  pager_.set_budget(Pager::kNever / 4);
  // What does not fit into memory stays out until it is accessed.
  const bool fits = pager_.statistics().out < os::free_memory().bytes() / 2;
  if (fits || !options_.handles_faults) pager_.page_in_all();
}

void Session::set_budget(std::int64_t bytes) {
  pager_.set_budget(bytes);
  executor_.begin_step(nullptr, false);
  const MutexLock lock(mutex_);
  options_.planner.budget = bytes;
  plans_.clear();
  seen_.clear();
}

void* Session::allocate(std::size_t size) {
  if (!is_running_.load(std::memory_order_acquire)) return nullptr;
  ThreadScopes& thread = scopes();
  if (thread.error) std::rethrow_exception(std::exchange(thread.error, nullptr));
  const auto bytes = static_cast<std::int64_t>(size);
  if (bytes < options_.minimum_bytes || ::getpid() != process_) return nullptr;
  std::byte* address = nullptr;
  try {
    address = pager_.allocate(bytes, thread.depth > 0);
  } catch (const BudgetError& error) {
    throw with_operator(error);
  }
  const BlockRef ref = pager_.find(address);
  if (thread.depth > 0) thread.allocated.push_back(ref);
  const bool is_counted = std::this_thread::get_id() == thread_;
  const std::int64_t block_bytes = pager_.bytes_of(ref);
  const MutexLock lock(mutex_);
  const int ordinal = recorder_.allocate(ref, block_bytes, is_counted);
  if (is_counted) executor_.bind(ordinal, ref, block_bytes);
  return address;
}

bool Session::free(void* address) {
  if (!pager_.owns(address)) return false;
  if (::getpid() != process_) return true;
  {
    const BlockRef ref = pager_.find(address);
    const MutexLock lock(mutex_);
    recorder_.free(ref);
  }
  return pager_.free(address);
}

MemoryError Session::with_operator(const BudgetError& error) const {
  const std::string& name = scopes().name;
  const std::int64_t needed = error.pinned + error.requested;
  return MemoryError(
      "DDL-5-70",
      fmt::format(
          "The memory budget of {} is too small for {}: its working set is at least {} ({} "
          "in use and {} requested). Raise the budget to {} or more, or use a smaller batch "
          "or input.",
          os::rounded_bytes(pager_.budget()),
          name.empty() ? "an allocation outside of operators" : name, os::rounded_bytes(needed),
          os::rounded_bytes(error.pinned), os::rounded_bytes(error.requested),
          os::rounded_bytes(needed)));
}

void Session::begin_operator(std::string_view name, bool is_transparent,
                             std::span<const BlockRef> inputs, std::uint64_t shapes) {
  ThreadScopes& thread = scopes();
  thread.frames.push_back({thread.pins.size(), is_transparent});
  if (is_transparent) return;
  try {
    if (thread.depth++ == 0) {
      thread.name = name;
      pager_.scope_begin();
      if (std::this_thread::get_id() == thread_) begin_outermost(name, shapes);
    }
    if (inputs.empty()) return;
    pager_.pin(inputs);
    thread.pins.insert(thread.pins.end(), inputs.begin(), inputs.end());
    if (std::this_thread::get_id() != thread_) return;
    const MutexLock lock(mutex_);
    for (const BlockRef& ref : inputs) recorder_.use(ref);
  } catch (const BudgetError& error) {
    thread.error = std::make_exception_ptr(with_operator(error));
  } catch (...) {
    thread.error = std::current_exception();
  }
}

void Session::end_operator() {
  ThreadScopes& thread = scopes();
  if (thread.frames.empty()) return;  // started before the session
  const ThreadScopes::Frame frame = thread.frames.back();
  thread.frames.pop_back();
  if (frame.is_transparent) return;
  const std::span<const BlockRef> pins(thread.pins);
  pager_.unpin(pins.subspan(frame.first_pin));
  thread.pins.resize(frame.first_pin);
  if (--thread.depth > 0) return;
  pager_.unpin(thread.allocated);
  thread.allocated.clear();
  thread.error = nullptr;
  thread.name.clear();
  try {
    if (std::this_thread::get_id() == thread_) end_outermost();
  } catch (const Error& error) {
    // A page-out that cannot start now: the block stays, and the next allocation reports it if that is a problem.
    log::warning("{}", error.what());
  }
  pager_.scope_end();
}

void Session::begin_outermost(std::string_view name, std::uint64_t shapes) {
  const bool is_now_backward = is_backward(name);
  if (std::exchange(was_backward_, is_now_backward) && !is_now_backward) end_step();
  int index = 0;
  {
    const MutexLock lock(mutex_);
    recorder_.begin_operator(name, is_now_backward ? Phase::kBackward : Phase::kForward, shapes,
                             time());
    index = recorder_.operator_count() - 1;
  }
  executor_.before_operator(index);
}

void Session::end_outermost() {
  int index = 0;
  std::uint64_t hash = 0;
  {
    const MutexLock lock(mutex_);
    recorder_.end_operator(time());
    index = recorder_.operator_count() - 1;
    hash = recorder_.hash();
  }
  if (index >= 0) executor_.after_operator(index, hash);
}

void Session::end_step() {
  const bool was_planned = executor_.is_active();
  const PagerStatistics now = pager_.statistics();
  const MutexLock lock(mutex_);
  RecordedStep step = recorder_.finish_step(time());
  const std::uint64_t hash = step.trace.hash();
  ++statistics_.steps;
  statistics_.planned_steps += was_planned;
  statistics_.last_unplanned_reads = now.unplanned_reads - step_before_.unplanned_reads;
  statistics_.last_wait =
      now.write_wait + now.read_wait - step_before_.write_wait - step_before_.read_wait;
  statistics_.last_seconds = time() - step_start_ + statistics_.last_wait;
  step_start_ = time();
  step_before_ = now;
  last_trace_ = step.trace;
  successors_[last_hash_] = hash;
  last_hash_ = hash;
  if (options_.plans) {
    const auto found = plans_.find(hash);
    if (found != plans_.end()) {
      PlannedStep& planned = *found->second;
      if (was_planned) correct_plan(planned);
      planned.step.refs = std::move(step.refs);
    } else if (seen_.size() < kMostTraces &&
               (++seen_[hash] > 1 || statistics_.plans < kEagerPlans)) {
      make_plan_for(std::move(step));
    }
  }
  // Unless plans move them, blocks that outlive a step leave memory last.
  if (!options_.planner.movable.with_persistent)
    for (const BlockRef& ref : recorder_.live()) pager_.set_next_use(ref, -1);
  const auto next = successors_.find(hash);
  const auto planned = plans_.find(next != successors_.end() ? next->second : hash);
  PlannedStep* const chosen = planned != plans_.end() ? planned->second.get() : nullptr;
  const auto own = plans_.find(hash);
  last_plan_ = own != plans_.end() ? own->second->plan : Plan{hash, options_.planner.budget, {}};
  executor_.begin_step(chosen, options_.planner.movable.with_persistent);
}

// Starts late reads earlier, unless they would then evict other blocks.
void Session::correct_plan(PlannedStep& planned) {
  if (executor_.lateness().empty()) return;
  const auto unplanned = [&](const Plan& plan) {
    const Simulation result = simulate(planned.step.trace, plan, options_.planner.simulator());
    return result.unplanned_reads + result.unplanned_writes;
  };
  Plan earlier = planned.plan;
  advance_reads(earlier, planned.step.trace, executor_.lateness());
  if (unplanned(earlier) <= unplanned(planned.plan)) planned.plan = std::move(earlier);
}

void Session::make_plan_for(RecordedStep step) {
  auto planned = std::make_unique<PlannedStep>();
  try {
    validate(step.trace);
    planned->plan = make_plan(step.trace, options_.planner);
  } catch (const Error& error) {
    log::debug("No plan for this step, which stays passive: {}", error.what());
    return;
  }
  const std::uint64_t hash = step.trace.hash();
  planned->step = std::move(step);
  plans_[hash] = std::move(planned);
  ++statistics_.plans;
}

SessionStatistics Session::statistics() const {
  const MutexLock lock(mutex_);
  SessionStatistics statistics = statistics_;
  statistics.pager = pager_.statistics();
  statistics.budget = pager_.budget();
  return statistics;
}

Trace Session::trace() const {
  const MutexLock lock(mutex_);
  return last_trace_;
}

PlannerOptions Session::planner_options() const {
  const MutexLock lock(mutex_);
  return options_.planner;
}

Plan Session::plan() const {
  const MutexLock lock(mutex_);
  return last_plan_;
}

}  // namespace tutti::lms
