// A recorded collision.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/models/science/hep/hard_process.h"
#include "tutti/models/science/hep/jets.h"

namespace tutti::models::hep {

struct Event {
  std::vector<float> image;  // see detector_image()
  bool is_signal = false;
  int slice = 0;      // number of the background's slice
  double weight = 1;  // generator weight
  Selection selection;
};

// Simulates one collision; nullopt if it does not pass the baseline selection: such events are not recorded. `slice`
// null: signal. `image_size` 0: no image.
std::optional<Event> collide(const Slice* slice, int image_size, Random& random);

}  // namespace tutti::models::hep
