#include "tutti/fusion/internal/root_scheduler.h"

#include <fmt/format.h>

#include <utility>

namespace tutti::fusion {

void RootScheduler::take_ready(std::int64_t now) {
  for (Report& report : negotiator_.take_ready()) {
    if (report.trouble.empty()) {
      queue_.add(std::move(report), now);
      continue;
    }
    add_failure({report.name, "DDL-4-71",
                 fmt::format("Ranks disagree about tensor '{}': {}.", report.name, report.trouble),
                 false});
  }
}

DownMessage RootScheduler::next(std::int64_t now, int in_flight) {
  negotiator_.take_up();  // the root has no parent
  take_ready(now);
  if (!negotiator_.left().empty()) {
    queue_.take_all();  // the rank that left may have cancelled its tensors
    if (!std::exchange(has_reported_left_, true)) down_.left = *negotiator_.left().begin();
    if (negotiator_.all_left()) down_.is_end = !std::exchange(has_ended_, true);
    return std::exchange(down_, {});
  }
  for (;;) {
    const std::vector<Report> bucket =
        queue_.next(now, in_flight + static_cast<int>(down_.buckets.size()));
    if (bucket.empty()) break;
    std::vector<Item>& items = down_.buckets.emplace_back();
    for (const Report& report : bucket) items.push_back(negotiator_.item_of(report));
  }
  if (negotiator_.all_joined() && queue_.is_empty()) down_.last_joined = negotiator_.last_joined();
  return std::exchange(down_, {});
}

}  // namespace tutti::fusion
