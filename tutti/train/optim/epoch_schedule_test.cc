#include "tutti/train/optim/epoch_schedule.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"

namespace tutti::train {
namespace {

TEST(EpochSchedule, EpochsOfEqualSteps) {
  const EpochSchedule epochs(103, 10);
  EXPECT_EQ(epochs.steps_per_epoch(), 10);
  EXPECT_EQ(epochs.position(0), (DataPosition{0, 0}));
  EXPECT_EQ(epochs.position(9), (DataPosition{0, 90}));
  EXPECT_EQ(epochs.position(10), (DataPosition{1, 0}));
  EXPECT_EQ(epochs.steps_until(2.5), 25);
  EXPECT_EQ(epochs.end_of_epoch(9), 10);
  EXPECT_EQ(epochs.end_of_epoch(10), 20);
  EXPECT_DOUBLE_EQ(epochs.epoch(15), 1.5);
  EXPECT_THROW(EpochSchedule(9, 10), ConfigError);
}

// A resumed run with the same step size continues as if never stopped, from any position.
TEST(EpochSchedule, ContinuesAsIfNeverStopped) {
  const EpochSchedule whole(103, 10);
  for (std::int64_t stop = 0; stop < 35; ++stop) {
    const EpochSchedule later(103, 10, stop, whole.position(stop));
    for (std::int64_t step = stop; step < 60; ++step) {
      EXPECT_EQ(whole.position(step), later.position(step)) << stop << " " << step;
      EXPECT_EQ(later.even_step(step), step);
      EXPECT_EQ(whole.end_of_epoch(step), later.end_of_epoch(step));
    }
    for (double epochs : {3.45, 5.0, 5.55})
      EXPECT_EQ(whole.steps_until(epochs), later.steps_until(epochs));
  }
}

// From every position and to every step size: the rest of the epoch follows without a gap, except for less than one
// step, and the next epoch begins at its first sample.
TEST(EpochSchedule, ContinuesWithStepsOfAnotherSize) {
  const std::int64_t samples = 96;
  for (std::int64_t before : {8, 12, 40})
    for (std::int64_t after : {4, 8, 16, 40, 96})
      for (std::int64_t stop = 0; stop < 3 * (samples / before); ++stop) {
        const DataPosition start = EpochSchedule(samples, before).position(stop);
        const EpochSchedule epochs(samples, after, stop, start);
        const std::int64_t end = start.samples + after > samples ? stop : epochs.end_of_epoch(stop);
        for (std::int64_t step = stop; step < end; ++step)
          EXPECT_EQ(epochs.position(step),
                    (DataPosition{start.epoch, start.samples + (step - stop) * after}));
        EXPECT_LT(samples - start.samples - (end - stop) * after, after);
        EXPECT_EQ(epochs.position(end), (DataPosition{start.epoch + 1, 0}));
        EXPECT_EQ(epochs.end_of_epoch(end), end + epochs.steps_per_epoch());
        EXPECT_EQ(epochs.steps_until(double(start.epoch + 3)), end + 2 * epochs.steps_per_epoch());
        EXPECT_NEAR(epochs.epoch(stop), double(start.epoch) + double(start.samples) / samples,
                    double(after) / samples);
      }
}

// If the data has fewer samples than were used already, the epoch is over.
TEST(EpochSchedule, TheDataMayHaveShrunk) {
  EXPECT_EQ(EpochSchedule(50, 10, 7, {2, 70}).position(7), (DataPosition{3, 0}));
}

}  // namespace
}  // namespace tutti::train
