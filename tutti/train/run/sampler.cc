#include "tutti/train/run/sampler.h"

#include <numeric>
#include <utility>

#include "tutti/core/random.h"

namespace tutti::train {

Sampler::Sampler(std::int64_t samples, const EpochSchedule& epoch_schedule, std::int64_t batch,
                 int rank, int ranks, std::uint64_t seed)
    : samples_(samples),
      epoch_schedule_(epoch_schedule),
      batch_(batch),
      rank_(rank),
      ranks_(ranks),
      seed_(seed) {}

void Sampler::shuffle(std::int64_t epoch) {
  epoch_ = epoch;
  order_.resize(static_cast<std::size_t>(samples_));
  std::iota(order_.begin(), order_.end(), 0);
  Random random(mixed_seed(seed_, static_cast<std::uint64_t>(epoch)));
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
}

std::vector<std::int64_t> Sampler::indices(std::int64_t step, std::int64_t part) {
  const DataPosition position = epoch_schedule_.position(step);
  if (position.epoch != epoch_) shuffle(position.epoch);
  const std::int64_t first = position.samples + (part * ranks_ + rank_) * batch_;
  return {order_.begin() + first, order_.begin() + first + batch_};
}

}  // namespace tutti::train
