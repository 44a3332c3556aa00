// Maps of the globe as SVG: a field in shades of grey, with regions or boxes over it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tutti/models/science/climate/weather.h"

namespace tutti::models::climate {

struct MapBox {
  Box box;
  int colour = 0;
  std::string text;
  bool is_dashed = false;
};

struct MapPanel {
  std::string title;
  std::span<const float> field;         // one value per cell
  std::span<const std::uint8_t> marks;  // 0: none; otherwise the number of a colour; may be empty
  std::vector<MapBox> boxes;
};

struct Legend {
  int colour;
  std::string text;
};

// Panels below each other, north up. Deterministic: the same panels give the same bytes.
std::string map_svg(const Grid& grid, std::span<const MapPanel> panels,
                    std::span<const Legend> legend);

}  // namespace tutti::models::climate
