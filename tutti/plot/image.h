// Two-dimensional fields as SVG elements: a grey-scale image with coloured marks on top.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tutti::plot {

// Views of the data to draw. The caller keeps the data alive while drawing.
struct Image {
  int rows = 0, columns = 0;
  std::span<const float> field;         // rows x columns values, row-major; empty: no image
  std::span<const std::uint8_t> marks;  // per pixel: 0 or the index of a colour; empty: no marks
  bool has_first_row_below = false;     // row 0 is at the bottom
  bool is_dark = false;                 // low values are black, else white
};

// Returns SVG <path> elements that cover (0, 0) to (columns, rows) with pixels of size 1. The caller puts them into a
// group with fill="none" and a transformation. Equal input produces identical bytes.
std::string image_elements(const Image& image);

// Colour of the marks with index `number`.
const char* mark_colour(int number);

}  // namespace tutti::plot
