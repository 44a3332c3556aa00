#include "tutti/lms/hooks/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/core/rounded_bytes.h"
#include "tutti/lms/hooks/operator_call.h"
#include "tutti/lms/hooks/transparency.h"
#include "tutti/lms/pager/fault_handler.h"
#include "tutti/lms/pager/measure_tier.h"
#include "tutti/lms/planner.h"
#include "tutti/lms/tiling/tiling.h"
#include "tutti/os/memory.h"

namespace tutti::lms {
namespace {

// Plans for new traces up to this number; afterwards only for traces that were seen before.
constexpr int kEagerPlans = 16;
constexpr std::size_t kMostTraces = 64;

// Adds the findings to the plan. Returns true if they change the trace that the plan is based on.
bool add_findings(PlannedStep& planned, const Findings& findings) {
  Trace& trace = planned.step.trace;
  planned.verified.insert(findings.verified.begin(), findings.verified.end());
  for (const int recipe : findings.failed)
    trace.recipes[static_cast<std::size_t>(recipe)].is_final = false;
  bool is_changed = !findings.failed.empty();
  planned.is_sampled = true;
  for (const auto& [index, encoding] : findings.encodings) {
    Block& block = trace.blocks[static_cast<std::size_t>(index)];
    block.codec = encoding.codec;
    block.stored_bytes = encoding.bytes;
    is_changed |= encoding.codec != Codec::kNone;
  }
  return is_changed;
}

}  // namespace

struct Session::ThreadScopes {
  struct Frame {
    std::size_t first_pin;
    bool is_transparent;
    bool is_evaluation;
  };
  const Session* session = nullptr;  // that the frames belong to
  std::vector<Frame> frames;
  int depth = 0;                    // of frames that are not transparent
  int evaluations = 0;              // frames that evaluate a node of autograd
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
    : options_(options),
      process_(::getpid()),
      pager_(options.pager),
      executor_(pager_, recomputer_, options.planner.compacts) {
  options_.planner.budget = options.pager.budget;
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
  // Blocks that do not fit into memory stay out until they are accessed.
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
  if (is_repeating()) return pager_.allocate(bytes, true);  // freed when the block is restored
  // Operators on tiles use their allocations as a whole, and the memory is reused for the next tile.
  const bool is_segmented = options_.segment_bytes > 0 && bytes >= 2 * options_.segment_bytes &&
                            !(is_in_tiled_operator() && thread.depth > 0);
  std::byte* address = nullptr;
  BlockRef ref;
  try {
    if (is_segmented) return allocate_segments(bytes);
    address = pager_.allocate(bytes, thread.depth > 0, &ref);
  } catch (const BudgetError& error) {
    throw with_operator(error);
  }
  if (thread.depth > 0) thread.allocated.push_back(ref);
  const MutexLock lock(mutex_);
  add_block(ref);
  return address;
}

// Transparent operators use the segments as inputs of other operators: segments become resident, and part of the trace,
// when an operator uses them. For other operators they become resident now: kernels use raw pointers, and code outside
// of operators may pass them to system calls.
void* Session::allocate_segments(std::int64_t bytes) {
  ThreadScopes& thread = scopes();
  const bool is_for_others = thread.depth == 0 && thread.frames.size() > 1;
  std::byte* const address = pager_.allocate_segments(bytes, options_.segment_bytes);
  if (is_for_others) return address;
  const std::vector<BlockRef> refs = pager_.blocks_at(address);
  try {
    if (thread.depth > 0) {
      pager_.pin(refs);
      thread.allocated.insert(thread.allocated.end(), refs.begin(), refs.end());
    }
    for (std::size_t i = 0; i < refs.size() && thread.depth == 0; ++i) {
      pager_.pin({&refs[i], 1});
      pager_.unpin({&refs[i], 1});
    }
  } catch (...) {
    pager_.free(address);
    throw;
  }
  const MutexLock lock(mutex_);
  for (const BlockRef& ref : refs) add_block(ref);
  return address;
}

void Session::add_block(BlockRef ref) {
  const bool is_counted = std::this_thread::get_id() == thread_;
  const std::int64_t bytes = pager_.bytes_of(ref);
  const int ordinal = recorder_.allocate(ref, bytes, is_counted);
  if (is_counted) executor_.bind(ordinal, ref, bytes);
}

bool Session::free(void* address) {
  if (!pager_.owns(address)) return false;
  if (::getpid() != process_) return true;
  {
    const std::vector<BlockRef> refs = pager_.blocks_at(address);
    for (const BlockRef& ref : refs) recomputer_.forget(ref);
    const MutexLock lock(mutex_);
    for (const BlockRef& ref : refs) recorder_.free(ref);
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
          rounded_bytes(pager_.budget()),
          name.empty() ? "an allocation outside of operators" : name, rounded_bytes(needed),
          rounded_bytes(error.pinned), rounded_bytes(error.requested), rounded_up_bytes(needed)));
}

void Session::begin_operator(std::string_view name, bool is_transparent,
                             std::span<const BlockRef> inputs, std::span<const BlockRef> modified,
                             std::uint64_t shapes) {
  ThreadScopes& thread = scopes();
  thread.frames.push_back({thread.pins.size(), is_transparent, is_evaluation(name)});
  thread.evaluations += thread.frames.back().is_evaluation;
  if (is_transparent) return;
  try {
    if (thread.depth++ == 0) {
      thread.name = name;
      pager_.scope_begin();
      if (std::this_thread::get_id() == thread_) begin_outermost(name, shapes);
    }
    if (inputs.empty()) return;
    if (!modified.empty()) recomputer_.restore_readers_of(modified);
    pager_.pin(inputs);
    thread.pins.insert(thread.pins.end(), inputs.begin(), inputs.end());
    if (std::this_thread::get_id() != thread_) return;
    const MutexLock lock(mutex_);
    for (const BlockRef& ref : inputs) {
      if (!recorder_.contains(ref)) add_block(ref);
      recorder_.use(ref);
    }
    for (const BlockRef& ref : modified) recorder_.modify(ref);
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
  thread.evaluations -= frame.is_evaluation;
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
    // The page-out cannot start now, so the block stays. The next allocation reports an error if memory is short.
    log::warning("{}", error.what());
  }
  pager_.scope_end();
}

std::optional<std::vector<Recipe::Input>> Session::contents_of(std::span<const BlockRef> inputs) {
  if (!options_.planner.recomputes || std::this_thread::get_id() != thread_) return {};
  const MutexLock lock(mutex_);
  return recorder_.contents_of(inputs);
}

void Session::add_recipe(BlockRef output, std::vector<Recipe::Input> inputs,
                         const MakeCall& make_call) {
  int index = -1;
  {
    const MutexLock lock(mutex_);
    index = recorder_.add_recipe(output, std::move(inputs));
  }
  if (index >= 0) executor_.add_call(index, make_call);
}

void Session::begin_outermost(std::string_view name, std::uint64_t shapes) {
  const bool is_now_backward = scopes().evaluations > 0;
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
  PlannedStep* next = nullptr;
  {
    const MutexLock lock(mutex_);
    RecordedStep step = recorder_.finish_step(time());
    const std::uint64_t hash = step.trace.hash();
    count_step(now, was_planned);
    last_trace_ = step.trace;
    successors_[last_hash_] = hash;
    last_hash_ = hash;
    if (options_.plans) update_plans(std::move(step), was_planned);
    // Unless plans move them, blocks that outlive a step leave memory last.
    if (!options_.planner.movable.with_persistent)
      for (const BlockRef& ref : recorder_.live()) pager_.set_next_use(ref, -1);
    next = plan_of(next_hash(hash));
    const PlannedStep* const last = plan_of(last_trace_);
    last_plan_ = last ? last->plan : Plan{hash, options_.planner.budget, {}};
    if (last) last_trace_.blocks = last->step.trace.blocks;  // with encodings
  }
  // Without the lock: calls of the last step are destroyed, which may free blocks.
  executor_.begin_step(next, options_.planner.movable.with_persistent);
}

void Session::count_step(const PagerStatistics& now, bool was_planned) {
  ++statistics_.steps;
  statistics_.planned_steps += was_planned;
  statistics_.last_unplanned_reads = now.unplanned_reads - step_before_.unplanned_reads;
  statistics_.last_wait =
      now.write_wait + now.read_wait - step_before_.write_wait - step_before_.read_wait;
  statistics_.last_seconds = time() - step_start_ + statistics_.last_wait;
  step_start_ = time();
  step_before_ = now;
}

// Corrects the plan of the step, or creates one.
void Session::update_plans(RecordedStep step, bool was_planned) {
  const std::uint64_t hash = step.trace.hash();
  if (PlannedStep* const planned = plan_of(step.trace)) {
    if (was_planned) correct_plan(*planned);
    planned->step.refs = std::move(step.refs);
  } else if (seen_.size() < kMostTraces && (++seen_[hash] > 1 || statistics_.plans < kEagerPlans)) {
    make_plan_for(std::move(step));
  }
}

// Returns the hash of the step that followed this one the last time; by default the same hash.
std::uint64_t Session::next_hash(std::uint64_t hash) const {
  const auto next = successors_.find(hash);
  return next != successors_.end() ? next->second : hash;
}

PlannedStep* Session::plan_of(std::uint64_t hash) const {
  const auto found = plans_.find(hash);
  return found != plans_.end() ? found->second.get() : nullptr;
}

// Steps with the same hash have the same operators and allocations, but perhaps not the same persistent blocks: some
// may be freed after the last operator. Their blocks are then numbered differently.
PlannedStep* Session::plan_of(const Trace& trace) const {
  PlannedStep* const planned = plan_of(trace.hash());
  const bool is_alike = planned && planned->step.trace.blocks.size() == trace.blocks.size();
  return is_alike ? planned : nullptr;
}

// Plans the step again without recipes that do not reproduce their content, and with the encodings that were found.
// Else starts late reads earlier, unless they would then evict other blocks.
void Session::correct_plan(PlannedStep& planned) {
  const Findings& findings = executor_.findings();
  if (add_findings(planned, findings)) {
    planned.plan = make_plan(planned.step.trace, options_.planner);
    return;
  }
  if (findings.lateness.empty()) return;
  const auto unplanned = [&](const Plan& plan) {
    const Simulation result = simulate(planned.step.trace, plan, options_.planner.simulator());
    return result.unplanned_reads + result.unplanned_writes;
  };
  Plan earlier = planned.plan;
  advance_reads(earlier, planned.step.trace, findings.lateness);
  if (unplanned(earlier) <= unplanned(planned.plan)) planned.plan = std::move(earlier);
}

// Measures the disk before the first plan that needs it.
void Session::measure_disk(const Trace& trace) {
  if (is_measured_ || peak_bytes(trace) <= options_.planner.budget) return;
  is_measured_ = true;
  try {
    SwapFile file(options_.pager.directory, options_.pager.engine, options_.pager.faults);
    options_.planner.tier = measure_tier(file);
  } catch (const Error& error) {  // if the disk fails permanently, page-outs report it
    log::warning("{}", error.what());
  }
}

void Session::make_plan_for(RecordedStep step) {
  auto planned = std::make_unique<PlannedStep>();
  try {
    validate(step.trace);
    measure_disk(step.trace);
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
