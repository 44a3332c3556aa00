#include "tutti/models/science/hep/event.h"

#include "tutti/models/science/hep/shower.h"

namespace tutti::models::hep {

std::optional<Event> collide(const Slice* slice, int image_size, Random& random) {
  const HardEvent hard = slice ? make_background(*slice, random) : make_signal(random);
  std::vector<FourVector> partons;
  for (const System& system : hard.systems) {
    const std::vector<FourVector> radiated = shower(system, random);
    partons.insert(partons.end(), radiated.begin(), radiated.end());
  }
  if (!may_pass_baseline(partons)) return std::nullopt;
  std::vector<Particle> particles;
  for (const FourVector& parton : partons) hadronise(parton, particles, random);
  const Readout readout = detect(particles, random);
  Event event;
  event.selection = select(large_jets(readout.towers));
  if (!event.selection.passes_baseline) return std::nullopt;
  event.is_signal = slice == nullptr;
  event.slice = slice ? slice->number : 0;
  event.weight = hard.weight;
  if (image_size > 0) event.image = detector_image(readout, image_size);
  return event;
}

}  // namespace tutti::models::hep
