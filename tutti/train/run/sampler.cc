#include "tutti/train/run/sampler.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace tutti::train {

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t limit) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Random::gaussian() {
  if (std::exchange(has_spare_, false)) return spare_;
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t index) {
  return Random(Random(seed).next() + index * 0x9e3779b97f4a7c15).next();
}

Sampler::Sampler(std::int64_t samples, const Course& course, std::int64_t batch, int rank,
                 int ranks, std::uint64_t seed)
    : samples_(samples), course_(course), batch_(batch), rank_(rank), ranks_(ranks), seed_(seed) {}

void Sampler::shuffle(std::int64_t epoch) {
  epoch_ = epoch;
  order_.resize(static_cast<std::size_t>(samples_));
  std::iota(order_.begin(), order_.end(), 0);
  Random random(mixed_seed(seed_, static_cast<std::uint64_t>(epoch)));
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
}

std::vector<std::int64_t> Sampler::indices(std::int64_t step, std::int64_t part) {
  const DataPlace place = course_.place(step);
  if (place.epoch != epoch_) shuffle(place.epoch);
  const std::int64_t first = place.samples + (part * ranks_ + rank_) * batch_;
  return {order_.begin() + first, order_.begin() + first + batch_};
}

}  // namespace tutti::train
