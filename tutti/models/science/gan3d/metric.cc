#include "tutti/models/science/gan3d/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti::models::gan3d {
namespace {

// Means over the showers of a bin.
struct Means {
  double count = 0, response = 0, squares = 0;
  std::array<std::array<double, kSide>, 3> profiles{};
  std::array<double, 3> centres{}, widths{};

  void add(double energy, const Shape& shape) {
    count += 1;
    const double response_here = shape.sum / visible(energy / 100);
    response += response_here;
    squares += response_here * response_here;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (std::size_t i = 0; i < kSide; ++i) profiles[axis][i] += double{shape.profiles[axis][i]};
      centres[axis] += shape.centre(static_cast<int>(axis));
      widths[axis] += shape.width(static_cast<int>(axis));
    }
  }
  double spread() const {
    const double mean = response / count;
    return mean > 0 ? std::sqrt(std::max(0.0, squares / count - mean * mean)) / mean : 0;
  }
};

Means means_of(const std::vector<double>& energies, const std::vector<Shape>& shapes,
               double centre) {
  Means means;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (std::abs(energies[i] - centre) <= kHalfBin) means.add(energies[i], shapes[i]);
  return means;
}

double relative(double generated, double real) {
  return real > 0 ? std::abs(generated - real) / real : 0;
}

// Mean relative error of a profile over the slices with more than 1 % of the energy.
double profile_error(const std::array<double, kSide>& generated,
                     const std::array<double, kSide>& real) {
  double all = 0, sum = 0, slices = 0;
  for (double energy : real) all += energy;
  for (std::size_t i = 0; i < kSide; ++i) {
    if (real[i] <= 0.01 * all) continue;
    sum += relative(generated[i], real[i]);
    slices += 1;
  }
  return slices > 0 ? sum / slices : 0;
}

plot::Axis axis(std::string label, bool is_linear) {
  return {std::move(label), 10, [](double value) { return plot::plain_text(value); }, is_linear};
}

}  // namespace

double Shape::centre(int axis) const {
  double energy = 0, moment = 0;
  for (std::size_t i = 0; i < kSide; ++i) {
    const double here = profiles[static_cast<std::size_t>(axis)][i];
    energy += here;
    moment += here * double(i);
  }
  return energy > 0 ? moment / energy : 0;
}

double Shape::width(int axis) const {
  const double middle = centre(axis);
  double energy = 0, moment = 0;
  for (std::size_t i = 0; i < kSide; ++i) {
    const double here = profiles[static_cast<std::size_t>(axis)][i];
    energy += here;
    moment += here * (double(i) - middle) * (double(i) - middle);
  }
  return energy > 0 ? std::sqrt(moment / energy) : 0;
}

Shape shape_of(std::span<const float> cells) {
  Shape shape{};
  double sum = 0;
  for (std::size_t x = 0, at = 0; x < kSide; ++x)
    for (std::size_t y = 0; y < kSide; ++y)
      for (std::size_t z = 0; z < kSide; ++z, ++at) {
        const float cell = cells[at];
        if (cell < kThreshold) continue;
        sum += cell;
        shape.profiles[0][x] += cell;
        shape.profiles[1][y] += cell;
        shape.profiles[2][z] += cell;
        const double bin = 4 * (std::log10(cell) + 6);
        shape.spectrum[static_cast<std::size_t>(std::clamp(bin, 0.0, kSpectrumBins - 0.5))] += 1;
      }
  shape.sum = static_cast<float>(sum);
  return shape;
}

Verdict compare(const Comparison& comparison) {
  Verdict verdict;
  double bins = 0;
  for (double centre : kBinCentres) {
    const Means generated = means_of(comparison.energies, comparison.generated, centre),
                real = means_of(comparison.energies, comparison.real, centre);
    if (real.count == 0) continue;
    bins += 1;
    verdict.longitudinal += profile_error(generated.profiles[2], real.profiles[2]);
    for (std::size_t axis = 0; axis < 2; ++axis)
      verdict.lateral += profile_error(generated.profiles[axis], real.profiles[axis]) / 2;
    verdict.depth += relative(generated.centres[2], real.centres[2]);
    for (std::size_t axis = 0; axis < 3; ++axis)
      verdict.width += relative(generated.widths[axis], real.widths[axis]) / 3;
    verdict.response += relative(generated.response, real.response);
    verdict.resolution_generated += generated.spread();
    verdict.resolution_real += real.spread();
  }
  for (double* each : {&verdict.longitudinal, &verdict.lateral, &verdict.depth, &verdict.width,
                       &verdict.response, &verdict.resolution_generated, &verdict.resolution_real})
    *each /= std::max(1.0, bins);
  verdict.separation = separation(comparison);
  return verdict;
}

plot::Chart profile_chart(const Comparison& comparison, int which) {
  std::vector<plot::Series> lines;
  for (double centre : kBinCentres) {
    const Means generated = means_of(comparison.energies, comparison.generated, centre),
                real = means_of(comparison.energies, comparison.real, centre);
    if (real.count == 0) continue;
    plot::Series ours{fmt::format("GAN, {} GeV", centre), plot::LineStyle::kPeer, {}};
    plot::Series right{fmt::format("real, {} GeV", centre), plot::LineStyle::kBound, {}};
    for (std::size_t i = 0; i < kSide; ++i) {
      const auto axis = static_cast<std::size_t>(which);
      ours.points.push_back({double(i), generated.profiles[axis][i] / generated.count});
      right.points.push_back({double(i), real.profiles[axis][i] / real.count});
    }
    lines.push_back(ours);
    lines.push_back(right);
  }
  const bool is_depth = which == 2;
  return {is_depth ? "Energy along the shower" : "Energy across the shower",
          fmt::format("mean of the showers within {} GeV of the given energy", kHalfBin),
          axis(is_depth     ? "layer"
               : which == 0 ? "cell along x"
                            : "cell along y",
               true),
          axis("GeV", is_depth), lines};
}

plot::Chart response_chart(const Comparison& comparison) {
  constexpr int kBins = 10;
  std::vector<plot::Series> lines;
  for (const bool is_generated : {true, false}) {
    struct Bin {
      double count = 0, energy = 0, sum = 0, squares = 0;
    } bins[kBins];
    const std::vector<Shape>& shapes = is_generated ? comparison.generated : comparison.real;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const double energy = comparison.energies[i], ratio = 100 * shapes[i].sum / energy;
      const double bin_position = (energy - kLowest) / (kHighest - kLowest) * kBins;
      Bin& bin = bins[std::clamp(static_cast<int>(bin_position), 0, kBins - 1)];
      bin.count += 1;
      bin.energy += energy;
      bin.sum += ratio;
      bin.squares += ratio * ratio;
    }
    plot::Series line{is_generated ? "GAN" : "real",
                      is_generated ? plot::LineStyle::kOurs : plot::LineStyle::kPeer,
                      {}};
    for (const Bin& bin : bins) {
      if (bin.count == 0) continue;
      const double mean = bin.sum / bin.count,
                   spread = std::sqrt(std::max(0.0, bin.squares / bin.count - mean * mean));
      line.points.push_back({bin.energy / bin.count, mean, mean - spread, mean + spread});
    }
    lines.push_back(line);
  }
  return {
      "Response of the calorimeter to electrons",
      fmt::format("mean and standard deviation of {} showers of each kind", comparison.real.size()),
      axis("energy of the electron, GeV", true), axis("sum of all cells, % of that energy", true),
      lines};
}

plot::Chart spectrum_chart(const Comparison& comparison) {
  std::vector<plot::Series> lines;
  for (const bool is_generated : {true, false}) {
    const std::vector<Shape>& shapes = is_generated ? comparison.generated : comparison.real;
    plot::Series line{is_generated ? "GAN" : "real",
                      is_generated ? plot::LineStyle::kOurs : plot::LineStyle::kPeer,
                      {}};
    for (int bin = 0; bin < kSpectrumBins; ++bin) {
      double cells = 0;
      for (const Shape& shape : shapes) cells += shape.spectrum[static_cast<std::size_t>(bin)];
      line.points.push_back({std::pow(10, (bin + 0.5) / 4 - 6), cells / double(shapes.size())});
    }
    lines.push_back(line);
  }
  return {"Energies of cells",
          fmt::format("cells per shower, four bins per decade, {} showers", comparison.real.size()),
          axis("GeV", false), axis("cells", false), lines};
}

}  // namespace tutti::models::gan3d
