#include "tutti/train/internal/step_rows.h"

#include <numeric>

#include "tutti/runs/training_log.h"

namespace tutti::train {

void StepRows::add(std::int64_t step, double epoch, Metrics metrics) {
  Strategy& strategy = context_.strategy;
  if (strategy.groups() > 1) metrics.emplace_back("group", strategy.group_number());
  if (strategy.group_number() == 0) {
    context_.log.step(step, epoch, metrics);
    form_ = std::move(metrics);
  } else if (strategy.group().rank() == 0) {
    waiting_.insert(waiting_.end(), {static_cast<double>(step), epoch});
    for (const auto& [name, value] : metrics) waiting_.push_back(value);
  }
}

void StepRows::share() {
  if (context_.strategy.groups() == 1) return;
  comm::Communicator& workers = context_.strategy.workers();
  const auto mine = static_cast<std::int64_t>(waiting_.size());
  std::vector<std::int64_t> counts(static_cast<std::size_t>(workers.size()));
  workers.all_gather({&mine, 1, DType::kI64}, Buffer::of(std::span(counts)), {}, {.name = "rows"});
  std::vector<double> all(static_cast<std::size_t>(
      workers.rank() == 0 ? std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) : 0));
  workers.gather(ConstBuffer::of(std::span<const double>(waiting_)), Buffer::of(std::span(all)), 0,
                 counts, {.name = "rows"});
  waiting_.clear();
  std::vector<runs::StepRow> rows;
  for (auto number = all.begin(); number != all.end();) {
    runs::StepRow row{static_cast<std::int64_t>(number[0]), number[1], form_};
    number += 2;
    for (auto& [name, value] : row.metrics) value = *number++;
    rows.push_back(std::move(row));
  }
  context_.log.steps_of_others(rows);
}

}  // namespace tutti::train
