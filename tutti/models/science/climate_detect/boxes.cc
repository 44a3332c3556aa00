#include "tutti/models/science/climate_detect/boxes.h"

#include <algorithm>
#include <cmath>

namespace tutti::models::climate_detect {

Targets encode(std::span<const Labelled> boxes, int rows, int columns, int cell) {
  const auto cells = static_cast<std::size_t>(rows) * columns;
  Targets targets{rows, columns, std::vector<float>(4 * cells), std::vector<float>(cells),
                  std::vector<std::int64_t>(cells)};
  for (const Labelled& one : boxes) {
    const Box& box = one.box;
    const double y = 0.5 * (box.row_min + box.row_max) / cell,
                 x = 0.5 * (box.column_min + box.column_max) / cell;
    const int row = static_cast<int>(std::floor(y)), column = static_cast<int>(std::floor(x));
    if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
    const std::size_t i = static_cast<std::size_t>(row) * columns + column;
    targets.has_storm[i] = 1;
    targets.kind[i] = one.kind;
    targets.boxes[i] = float(x - column);
    targets.boxes[cells + i] = float(y - row);
    targets.boxes[2 * cells + i] = float(std::log2((box.column_max - box.column_min) / cell));
    targets.boxes[3 * cells + i] = float(std::log2((box.row_max - box.row_min) / cell));
  }
  return targets;
}

Box decode(int row, int column, std::span<const float, 4> encoded, int cell) {
  const double x = (column + std::clamp(encoded[0], 0.f, 1.f)) * cell,
               y = (row + std::clamp(encoded[1], 0.f, 1.f)) * cell;
  const double width = cell * std::exp2(std::clamp(encoded[2], -8.f, 8.f)),
               height = cell * std::exp2(std::clamp(encoded[3], -8.f, 8.f));
  return {y - height / 2, x - width / 2, y + height / 2, x + width / 2};
}

double overlap(const Box& a, const Box& b) {
  const double rows = std::min(a.row_max, b.row_max) - std::max(a.row_min, b.row_min),
               columns =
                   std::min(a.column_max, b.column_max) - std::max(a.column_min, b.column_min);
  if (rows <= 0 || columns <= 0) return 0;
  auto area = [](const Box& box) {
    return (box.row_max - box.row_min) * (box.column_max - box.column_min);
  };
  return rows * columns / (area(a) + area(b) - rows * columns);
}

namespace {

struct Ranked {
  float score;
  std::size_t scene, index;
};

// For each detection of that kind, best first: true if it matches a box.
std::vector<bool> hits(std::span<const Scene> scenes, int kind, double least) {
  std::vector<Ranked> order;
  std::vector<std::vector<bool>> is_taken;
  for (std::size_t s = 0; s < scenes.size(); ++s) {
    is_taken.emplace_back(scenes[s].truth.size());
    for (std::size_t i = 0; i < scenes[s].found.size(); ++i)
      if (scenes[s].found[i].kind == kind) order.push_back({scenes[s].found[i].score, s, i});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  std::vector<bool> result;
  for (const Ranked& one : order) {
    const Scene& scene = scenes[one.scene];
    double best = least;
    std::ptrdiff_t chosen = -1;
    for (std::size_t t = 0; t < scene.truth.size(); ++t) {
      if (scene.truth[t].kind != kind || is_taken[one.scene][t]) continue;
      const double value = overlap(scene.truth[t].box, scene.found[one.index].box);
      if (value < best) continue;
      best = value;
      chosen = static_cast<std::ptrdiff_t>(t);
    }
    if (chosen >= 0) is_taken[one.scene][static_cast<std::size_t>(chosen)] = true;
    result.push_back(chosen >= 0);
  }
  return result;
}

}  // namespace

double average_precision(std::span<const Scene> scenes, int kind, double least) {
  double storms = 0;
  for (const Scene& scene : scenes)
    for (const Labelled& one : scene.truth) storms += one.kind == kind;
  if (storms == 0) return -1;
  std::vector<double> precision, recall;
  double right = 0, all = 0;
  for (bool is_hit : hits(scenes, kind, least)) {
    right += is_hit;
    all += 1;
    precision.push_back(right / all);
    recall.push_back(right / storms);
  }
  double area = 0, highest = 0;
  for (std::size_t i = precision.size(); i > 0; --i) {
    highest = std::max(highest, precision[i - 1]);
    area += highest * (recall[i - 1] - (i > 1 ? recall[i - 2] : 0));
  }
  return area;
}

double mean_average_precision(std::span<const Scene> scenes, double least) {
  double sum = 0, kinds = 0;
  for (int kind = 0; kind < kKinds; ++kind)
    if (const double value = average_precision(scenes, kind, least); value >= 0) {
      sum += value;
      kinds += 1;
    }
  return kinds > 0 ? sum / kinds : 0;
}

}  // namespace tutti::models::climate_detect
