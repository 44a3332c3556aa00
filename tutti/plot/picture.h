// A field of numbers as a picture in SVG: shades of grey, with coloured marks over it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tutti::plot {

struct Picture {
  int rows = 0, columns = 0;
  std::span<const float> field;         // row after row; empty: none
  std::span<const std::uint8_t> marks;  // 0: none; else the number of a colour; empty: none
  bool has_first_row_below = false;
  bool is_dark = false;  // low values are black; else white
};

// SVG elements in which a place is 1 wide and high, within (0, 0) and (columns, rows). To be put in
// a group with fill="none". The same picture gives the same bytes.
std::string picture_elements(const Picture& picture);

// The colour of a mark.
const char* mark_colour(int number);

}  // namespace tutti::plot
