// One recorded collision.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/models/science/hep/hard_process.h"
#include "tutti/models/science/hep/jets.h"

namespace tutti::models::hep {

struct Event {
  std::vector<float> image;  // as picture() gives it
  bool is_signal = false;
  int slice = 0;      // number of the background's slice
  double weight = 1;  // of the generator
  Selection selection;
};

// What one collision gave, or nothing when it does not pass the baseline selection: such events are
// not recorded. `slice` null: signal. `image_size` 0: no picture.
std::optional<Event> collide(const Slice* slice, int image_size, Random& random);

}  // namespace tutti::models::hep
