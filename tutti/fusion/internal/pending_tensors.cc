#include "tutti/fusion/internal/pending_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tutti/comm/base/require.h"
#include "tutti/core/clock.h"
#include "tutti/core/mutex.h"

namespace tutti::fusion {

Ticket PendingTensors::submit(Call call) {
  auto tensor = std::make_shared<PendingTensor>();
  tensor->signature = signature_of(call, ranks_);
  tensor->submitted_ns = now_ns();
  if (call.kind == Kind::kAllGather || call.kind == Kind::kAllToAll)
    tensor->gathered = std::make_shared<Gathered>();
  tensor->call = std::move(call);
  const std::string& name = tensor->call.name;
  const MutexLock lock(mutex_);
  failure_.throw_if_error();
  comm::require(!join_.work,
                "Tensor '{}' was submitted after `join`: wait until all ranks have joined.", name);
  const auto is_twin = [&](const std::shared_ptr<PendingTensor>& other) {
    return other && other->call.name == name && other->call.kind == tensor->call.kind;
  };
  const auto in_flight = find(name);
  if (is_twin(in_flight) || std::ranges::any_of(held_back_, is_twin)) {
    throw ConfigError(
        "DDL-4-75",
        fmt::format("A tensor '{}' is still in flight: wait for it first, or use another name.",
                    name));
  }
  ++not_released_;
  in_flight ? held_back_.push_back(tensor) : report(tensor);
  return {comm::Work(tensor->work), tensor->gathered};
}

comm::Work PendingTensors::join(std::shared_ptr<int> last) {
  const MutexLock lock(mutex_);
  failure_.throw_if_error();
  comm::require(!join_.work, "This rank has joined already: wait until all ranks have.");
  join_ = {std::make_shared<comm::Work::State>(), std::move(last), true};
  wakeup_.signal();
  return comm::Work(join_.work);
}

void PendingTensors::leave() {
  const MutexLock lock(mutex_);
  is_leaving_ = true;
  wakeup_.signal();
}

PendingTensors::Submissions PendingTensors::take_submissions() {
  const MutexLock lock(mutex_);
  return {std::exchange(reports_, {}), std::exchange(join_.is_new, false), is_leaving_};
}

bool PendingTensors::needs_negotiation() const {
  const MutexLock lock(mutex_);
  return not_released_ > 0 || join_.work || is_leaving_;
}

void PendingTensors::report(const std::shared_ptr<PendingTensor>& tensor) {
  const Call& call = tensor->call;
  tensors_.emplace(call.name, tensor);
  reports_.push_back({.name = call.name,
                      .signature = tensor->signature,
                      .priority = call.priority,
                      .is_cacheable = call.is_cacheable});
  wakeup_.signal();
}

void PendingTensors::report_next_of(const std::string& name) {
  const auto next = std::ranges::find_if(
      held_back_, [&](const auto& tensor) { return tensor->call.name == name; });
  if (next == held_back_.end()) return;
  report(*next);
  held_back_.erase(next);
}

std::shared_ptr<PendingTensor> PendingTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

Bucket PendingTensors::release_bucket(const std::vector<Item>& items) {
  Bucket bucket{items, {}};
  const std::int64_t now = now_ns();
  for (const Item& item : items) {
    const auto& tensor = bucket.tensors.emplace_back(find(item.report.name));
    if (!tensor) continue;
    tensor->is_released = true;
    --not_released_;
    timeline_.add(Timeline::Row::kTensors, "negotiate", item.report.name, tensor->submitted_ns,
                  now);
    tensor->submitted_ns = now;  // from here on it waits for execution
  }
  return bucket;
}

std::vector<Bucket> PendingTensors::release(const DownMessage& down) {
  std::vector<Bucket> buckets;
  std::vector<std::pair<std::shared_ptr<PendingTensor>, Result>> failed;
  std::shared_ptr<comm::Work::State> join_work;
  {
    const MutexLock lock(mutex_);
    for (const auto& items : down.buckets) buckets.push_back(release_bucket(items));
    for (const auto& failure : down.failures) {
      const auto kind = failure.is_timeout ? ErrorKind::kTimeout : ErrorKind::kComm;
      if (auto tensor = find(failure.name))
        failed.emplace_back(tensor, Result::failure(kind, failure.code, failure.text));
    }
    if (down.last_joined >= 0) {
      if (join_.last) *join_.last = down.last_joined;
      join_work = std::exchange(join_.work, nullptr);
    }
  }
  for (const auto& [tensor, outcome] : failed) complete(tensor, outcome);
  if (join_work) join_work->complete(Result::ok());
  return buckets;
}

void PendingTensors::complete(const std::shared_ptr<PendingTensor>& tensor, const Result& outcome) {
  {
    const MutexLock lock(mutex_);
    if (find(tensor->call.name) == tensor) {
      tensors_.erase(tensor->call.name);
      report_next_of(tensor->call.name);
    }
    if (!tensor->is_released) --not_released_;
  }
  // Last: once the work is complete, the caller may reuse the name and the buffers.
  tensor->work->complete(outcome);
}

void PendingTensors::fail(const Result& failure, bool is_final) {
  std::vector<std::shared_ptr<PendingTensor>> ending;
  std::shared_ptr<comm::Work::State> join_work;
  {
    const MutexLock lock(mutex_);
    if (failure_) failure_ = failure;
    is_final_ |= is_final;
    for (const auto& [name, tensor] : tensors_) {
      if (!tensor->is_released) ending.push_back(tensor);
    }
    ending.insert(ending.end(), held_back_.begin(), held_back_.end());
    held_back_.clear();
    join_work = std::exchange(join_.work, nullptr);
    wakeup_.signal();
  }
  for (const auto& tensor : ending) complete(tensor, failure);
  if (join_work) join_work->complete(failure);
}

Result PendingTensors::final_failure() const {
  const MutexLock lock(mutex_);
  return is_final_ ? failure_ : Result::ok();
}

void PendingTensors::check() const {
  const MutexLock lock(mutex_);
  failure_.throw_if_error();
}

}  // namespace tutti::fusion
