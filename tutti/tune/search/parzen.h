// Parzen estimator: the density of parameter values, estimated from trials.
//
// The density is a mixture of one component per observed trial and one prior component. A component is a product over
// the parameters: a normal distribution around the observed position, truncated to the unit interval; its mass on the
// interval of the value if the parameter is discrete; or, for a choice, most of the probability on the observed one.
// The prior is a wide normal distribution, and equal probabilities of all choices.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/core/random.h"
#include "tutti/tune/space.h"

namespace tutti::tune {

// Observations of one parameter: positions in the unit interval, or indices of choices.
using Observations = std::vector<float>;
// One position or index per parameter.
using Point = std::vector<float>;

class ParzenEstimator {
 public:
  // `observations` has one entry per parameter of `space`, each with one number per trial; `weights` has one per trial.
  // `space` must outlive this object.
  ParzenEstimator(const Space& space, std::vector<Observations> observations,
                  std::vector<double> weights);

  // Draws a point. Discrete parameters are in the middle of the interval of their value.
  Point sample(Random& random) const;
  // Log density of each point.
  std::vector<double> log_densities(const std::vector<Point>& points) const;

 private:
  // The kernels of one parameter, without the prior.
  struct Dimension {
    const Distribution* distribution;
    Observations observed;
    std::vector<float> inverse_widths = {};  // 1 / standard deviations; empty: choices
    std::vector<std::uint8_t> grid_indices =
        {};            // of the observed values on a small grid, else empty
    double width = 0;  // of all kernels; 0: they differ
  };

  void set_widths(Dimension& dimension, std::size_t dimensions) const;
  void set_masses(Dimension& dimension);
  void add_choice(const Dimension& dimension, float choice, std::vector<float>& logs) const;
  void add_value(const Dimension& dimension, float position, std::vector<float>& logs) const;
  float draw(const Dimension& dimension, std::size_t component, Random& random) const;

  std::size_t count_;  // of observed trials
  double components_;  // with the prior
  std::vector<Dimension> dimensions_;
  std::vector<double> weights_;    // of the components; the prior is last; sum 1
  std::vector<float> log_scales_;  // log weights minus log normalisations, without the prior
};

}  // namespace tutti::tune
