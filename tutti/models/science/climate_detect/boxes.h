// Encoding of boxes for the network, and their average precision.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/models/science/climate/weather.h"

namespace tutti::models::climate_detect {

using climate::Box;
inline constexpr int kKinds = climate::kStormKinds;

struct Labelled {
  Box box;
  int kind = 0;
};

// Targets on the network's grid of cells, each `cell` pixels wide. The cell that contains the centre of a box has the
// offset of the centre in the cell (0 to 1) and log2 of the sizes relative to the cell. If two storms share a cell, the
// later one counts.
struct Targets {
  int rows = 0, columns = 0;
  std::vector<float> boxes;        // (4, rows, columns): x, y, width, height
  std::vector<float> has_storm;    // (rows, columns)
  std::vector<std::int64_t> kind;  // (rows, columns)
};
// Targets of a frame with these storms, for a grid of rows x columns cells.
Targets encode(std::span<const Labelled> boxes, int rows, int columns, int cell);

struct Detection {
  Box box;
  int kind = 0;
  float score = 0;
};
// Box of the cell in this row and column. Inverse of encode.
Box decode(int row, int column, std::span<const float, 4> encoded, int cell);

double overlap(const Box& a, const Box& b);  // intersection over union

// True and detected storms of one frame.
struct Scene {
  std::vector<Labelled> truth;
  std::vector<Detection> found;
};
// Average precision of one kind over all frames. Detections, in order of their score, are matched to the unmatched box
// of their frame with the largest overlap, if that is at least `least`. The result is the area under the monotone
// precision-recall curve; -1 for a kind that does not occur.
double average_precision(std::span<const Scene> scenes, int kind, double least);
// Mean over the kinds that occur.
double mean_average_precision(std::span<const Scene> scenes, double least);

}  // namespace tutti::models::climate_detect
