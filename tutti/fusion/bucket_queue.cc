#include "tutti/fusion/bucket_queue.h"

#include <algorithm>
#include <tuple>

namespace tutti::fusion {
namespace {

// int8 and top-k keep a residual per tensor, so each tensor must be compressed separately.
bool keeps_residual(const Signature& s) {
  return s.compression.starts_with("int8") || s.compression.starts_with("topk");
}

}  // namespace

bool can_share_bucket(const Signature& a, const Signature& b) {
  return a.kind == Kind::kAllReduce && b.kind == Kind::kAllReduce && a.dtype == b.dtype &&
         a.op == b.op && a.prescale == b.prescale && a.postscale == b.postscale &&
         a.compression == b.compression && !keeps_residual(a) && !a.no_fusion && !b.no_fusion;
}

void BucketQueue::add(Report report, std::int64_t now) {
  Ready ready{std::move(report), now, numbers_++};
  const auto before = [](const Ready& a, const Ready& b) {
    return std::tie(a.report.priority, a.number) < std::tie(b.report.priority, b.number);
  };
  ready_.insert(std::upper_bound(ready_.begin(), ready_.end(), ready, before), std::move(ready));
}

std::vector<Report> BucketQueue::next(std::int64_t now, int in_flight) {
  if (ready_.empty() || in_flight >= settings_.window) return {};
  const Signature& first = ready_.front().report.signature;
  std::vector<std::size_t> members;
  std::size_t bytes = 0;
  const std::size_t alone = std::max<std::size_t>(settings_.bucket_bytes / kAlonePart, 1);
  bool is_full = !can_share_bucket(first, first) || first.bytes() >= alone;
  std::int64_t oldest = now;
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    const Signature& signature = ready_[i].report.signature;
    if (i > 0 && (is_full || !can_share_bucket(first, signature))) continue;
    if (i > 0 && signature.bytes() >= alone) continue;
    if (i > 0 && bytes + signature.bytes() > settings_.bucket_bytes) {
      is_full = true;
      continue;
    }
    members.push_back(i);
    bytes += signature.bytes();
    is_full |= bytes >= settings_.bucket_bytes;
    oldest = std::min(oldest, ready_[i].since);
  }
  if (!is_full && now - oldest < settings_.cycle_ns) return {};
  std::vector<Ready> taken;
  for (const std::size_t i : members) taken.push_back(std::move(ready_[i]));
  for (auto i = members.rbegin(); i != members.rend(); ++i)
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(*i));
  std::sort(taken.begin(), taken.end(),
            [](const Ready& a, const Ready& b) { return a.number < b.number; });
  std::vector<Report> bucket;
  for (Ready& ready : taken) bucket.push_back(std::move(ready.report));
  return bucket;
}

std::vector<Report> BucketQueue::take_all() {
  std::vector<Report> all;
  for (Ready& ready : ready_) all.push_back(std::move(ready.report));
  ready_.clear();
  return all;
}

}  // namespace tutti::fusion
