#include "tutti/fusion/negotiator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::fusion {
namespace {

// Collectives to which joined ranks can contribute zeros, or no rows.
bool works_without_some(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kAllGather || kind == Kind::kBarrier;
}

}  // namespace

TreePosition::TreePosition(int rank_, int size_, int radix_)
    : rank(rank_), size(size_), radix(radix_), parent(rank_ == 0 ? -1 : (rank_ - 1) / radix_) {
  const auto children_of = [&](std::int64_t r) {
    std::vector<int> found;
    for (std::int64_t c = r * radix + 1; c <= r * radix + radix && c < size; ++c)
      found.push_back(static_cast<int>(c));
    return found;
  };
  children = children_of(rank);
  for (std::int64_t r = rank; r * radix + 1 < size; r = r * radix + 1) ++height;
  for (const int child : children) {
    std::vector<int>& all = below.emplace_back(1, child);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::vector<int> more = children_of(all[i]);
      all.insert(all.end(), more.begin(), more.end());
    }
  }
}

void Negotiator::submit(Report report, std::int64_t now) {
  report.rank = position_.rank;
  Waiting& waiting = waiting_for(report.name, now);
  waiting.is_mine = true;
  merge(waiting, report);
  pass_if_complete(report.name);
}

void Negotiator::receive(std::size_t child, const UpMessage& message, std::int64_t now) {
  const auto note = [&](const Report& report) {
    Waiting& waiting = waiting_for(report.name, now);
    waiting.children[child] = true;
    waiting.late.erase(child);
    merge(waiting, report);
    pass_if_complete(report.name);
  };
  for (const std::uint32_t number : message.known) {
    Report report = cache_.at(number);
    report.rank = position_.children[child];
    note(report);
  }
  for (const Report& report : message.reports) note(report);
  for (const Late& late : message.late) waiting_for(late.name, now).late[child] = late.missing;
  for (const int rank : message.joined) add_joined(rank);
  if (!message.joined.empty()) pass_all_complete();
  for (const int rank : message.left) {
    if (left_.insert(rank).second) up_.left.push_back(rank);
  }
}

Negotiator::Waiting& Negotiator::waiting_for(const std::string& name, std::int64_t now) {
  const auto [at, is_new] = waiting_.try_emplace(name);
  if (is_new) {
    at->second.children.resize(position_.children.size());
    at->second.since = now;
  }
  return at->second;
}

// Merges two reports of the same tensor. If their signatures differ, the mismatch is forwarded to the root instead of
// the tensor.
void Negotiator::merge(Waiting& waiting, const Report& report) {
  if (!waiting.report) {
    waiting.report = report;
    return;
  }
  Report& whole = *waiting.report;
  whole.priority = std::min(whole.priority, report.priority);
  whole.is_cacheable &= report.is_cacheable;
  if (whole.trouble.empty()) whole.trouble = report.trouble;
  if (whole.trouble.empty() && whole.signature != report.signature) {
    whole.trouble = fmt::format("rank {} has {}, rank {} has {}", whole.rank,
                                whole.signature.text(), report.rank, report.signature.text());
  }
}

bool Negotiator::is_complete(const Waiting& waiting) const {
  if (!waiting.report || (!waiting.is_mine && !has_joined())) return false;
  for (std::size_t c = 0; c < position_.children.size(); ++c) {
    if (!waiting.children[c] && !has_joined(c)) return false;
  }
  return true;
}

void Negotiator::pass_if_complete(const std::string& name) {
  const auto at = waiting_.find(name);
  if (at == waiting_.end() || !is_complete(at->second)) return;
  Report report = std::move(*at->second.report);
  const bool all_have_it =
      at->second.is_mine && std::ranges::count(at->second.children, false) == 0;
  if (!all_have_it && !works_without_some(report.signature.kind) && report.trouble.empty())
    report.trouble = report.signature.text() + " needs every rank, but some have joined";
  waiting_.erase(at);
  if (position_.parent < 0) {
    ready_.push_back(std::move(report));
    return;
  }
  const auto known = cache_numbers_.find(key_of(report.name, report.signature));
  if (known != cache_numbers_.end() && report.trouble.empty()) {
    up_.known.push_back(known->second);
  } else {
    up_.reports.push_back(std::move(report));
  }
}

void Negotiator::pass_all_complete() {
  std::vector<std::string> names;
  for (const auto& [name, waiting] : waiting_) names.push_back(name);
  for (const std::string& name : names) pass_if_complete(name);
}

bool Negotiator::has_joined(std::size_t child) const {
  const std::vector<int>& ranks = position_.below[child];
  return std::all_of(ranks.begin(), ranks.end(), [&](int r) { return joined_.count(r) > 0; });
}

// Ranks that have not submitted the tensor. A child that has not reported the tensor as late has no rank below it that
// submitted the tensor; otherwise its late report would have arrived.
std::vector<int> Negotiator::missing(const Waiting& waiting) const {
  std::vector<int> ranks;
  if (!waiting.is_mine && !has_joined()) ranks.push_back(position_.rank);
  for (std::size_t c = 0; c < position_.children.size(); ++c) {
    if (waiting.children[c] || has_joined(c)) continue;
    const auto late = waiting.late.find(c);
    const std::vector<int>& lacking =
        late != waiting.late.end() ? late->second : position_.below[c];
    for (const int rank : lacking) {
      if (joined_.count(rank) == 0) ranks.push_back(rank);
    }
  }
  return ranks;
}

void Negotiator::add_joined(int rank) {
  if (!joined_.insert(rank).second) return;
  last_joined_ = rank;
  up_.joined.push_back(rank);
}

void Negotiator::join() {
  add_joined(position_.rank);
  pass_all_complete();
}

void Negotiator::leave() {
  if (left_.insert(position_.rank).second) up_.left.push_back(position_.rank);
}

Item Negotiator::item_of(const Report& report) const {
  const auto known = cache_numbers_.find(key_of(report.name, report.signature));
  if (known != cache_numbers_.end()) return {.known = known->second, .report = {}};
  return {.is_remembered = report.is_cacheable, .report = report};
}

void Negotiator::apply(DownMessage& message) {
  for (auto& bucket : message.buckets) {
    for (Item& item : bucket) {
      if (item.known != Item::kUnknown) {
        item.report = cache_.at(static_cast<std::size_t>(item.known));
      } else if (item.is_remembered) {
        remember(item.report);
      }
    }
  }
  for (const auto& failure : message.failures) waiting_.erase(failure.name);
  if (message.last_joined >= 0) joined_.clear();
}

// Entries are never evicted. When the cache is full, new tensors are always sent as full reports.
void Negotiator::remember(const Report& report) {
  if (cache_.size() >= cache_capacity_) return;
  const auto number = static_cast<std::uint32_t>(cache_.size());
  if (cache_numbers_.emplace(key_of(report.name, report.signature), number).second)
    cache_.push_back(report);
}

std::vector<Stall> Negotiator::look_for_stalls(std::int64_t now, std::int64_t stall_ns) {
  std::vector<Stall> stalls;
  for (auto& [name, waiting] : waiting_) {
    const std::int64_t waited = now - waiting.since;
    if (waited < std::max(stall_ns, 2 * waiting.reported_wait)) continue;
    waiting.reported_wait = waited;
    const std::vector<int> ranks = missing(waiting);
    if (position_.parent < 0) {
      stalls.push_back({name, 1e-9 * static_cast<double>(waited), ranks});
    } else {
      up_.late.push_back({name, ranks});
    }
  }
  return stalls;
}

std::vector<Stall> Negotiator::overdue(std::int64_t now, std::int64_t limit) const {
  std::vector<Stall> stalls;
  for (const auto& [name, waiting] : waiting_) {
    const std::int64_t waited = now - waiting.since;
    if (waited > limit)
      stalls.push_back({name, 1e-9 * static_cast<double>(waited), missing(waiting)});
  }
  return stalls;
}

}  // namespace tutti::fusion
