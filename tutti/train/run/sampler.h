// Samples of each rank and step. The order of an epoch is one shuffle of all samples, the same on every rank. A step
// uses the next samples of it, divided among the ranks. One step of R ranks with batch B thus uses the same samples as
// R steps of one rank, and a run can be resumed with another number of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/train/optim/epoch_schedule.h"

namespace tutti::train {

class Sampler {
 public:
  // A step has one batch of `batch` samples per rank, or several of them (parts).
  Sampler(std::int64_t samples, const EpochSchedule& epoch_schedule, std::int64_t batch, int rank,
          int ranks, std::uint64_t seed);

  // Samples of this rank in part `part` of step `step`, counted over all epochs. Not thread-safe.
  std::vector<std::int64_t> indices(std::int64_t step, std::int64_t part = 0);

 private:
  void shuffle(std::int64_t epoch);

  std::int64_t samples_;
  EpochSchedule epoch_schedule_;
  std::int64_t batch_;
  int rank_, ranks_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

}  // namespace tutti::train
