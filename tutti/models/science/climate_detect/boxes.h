// Boxes as the network says them, and how good they are.
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

// What the network should say on its grid of cells, each `cell` pixels wide: for the cell in which
// the centre of a box lies, the offset of the centre in the cell (0 to 1) and log2 of the sizes by
// the cell's side. Of two storms in one cell the later counts.
struct Targets {
  int rows = 0, columns = 0;
  std::vector<float> boxes;        // (4, rows, columns): x, y, width, height
  std::vector<float> has_storm;    // (rows, columns)
  std::vector<std::int64_t> kind;  // (rows, columns)
};
Targets encode(std::span<const Labelled> boxes, int rows, int columns, int cell);

struct Detection {
  Box box;
  int kind = 0;
  float score = 0;
};
// What a cell says, as a box. The reverse of encode.
Box decode(int row, int column, std::span<const float, 4> encoded, int cell);

double overlap(const Box& a, const Box& b);  // intersection over union

// Average precision of one kind over all frames: detections in order of their score take the free
// box of their frame that they overlap most, if by at least `least`; the area below precision, made
// falling, against recall. Of a kind that never occurs: -1.
struct Scene {
  std::vector<Labelled> truth;
  std::vector<Detection> found;
};
double average_precision(std::span<const Scene> scenes, int kind, double least);
// Over the kinds that occur.
double mean_average_precision(std::span<const Scene> scenes, double least);

}  // namespace tutti::models::climate_detect
