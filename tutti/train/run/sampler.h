// Which samples a rank sees at a step. The order of an epoch is one shuffle of the whole data, the
// same on every rank; a step takes the next samples of it and ranks share them. So what one step of
// R ranks with batch B sees is what R steps of one rank would see, and a run can be continued with
// another number of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/train/optim/epoch_schedule.h"

namespace tutti::train {

class Sampler {
 public:
  // A step of the course has one batch of `batch` samples for every rank, or several parts of that.
  Sampler(std::int64_t samples, const EpochSchedule& epoch_schedule, std::int64_t batch, int rank,
          int ranks, std::uint64_t seed);

  // Samples of this rank in part `part` of step `step`, counted over all epochs. Safe from one
  // thread.
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
