#include "tutti/plot/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tutti::plot {
namespace {

constexpr int kShades = 14;
constexpr const char* kColours[] = {"#000000", "#d62728", "#1f77b4", "#2ca02c", "#ff7f0e"};

// Run-length encoding as SVG: one path per shade, and one horizontal stroke per run of equal pixels in a row.
// `shade_of` maps a pixel to a shade; -1: not drawn.
template <class ShadeOf, class ColourOf>
std::string runs(const Image& image, int shades, ShadeOf shade_of, ColourOf colour_of,
                 double opacity) {
  std::vector<std::string> paths(static_cast<std::size_t>(shades));
  for (int row = 0; row < image.rows; ++row)
    for (int column = 0; column < image.columns;) {
      const auto at = [&](int x) { return static_cast<std::size_t>(row * image.columns + x); };
      const int shade = shade_of(at(column));
      int end = column + 1;
      while (end < image.columns && shade_of(at(end)) == shade) ++end;
      if (shade >= 0)
        paths[shade] +=
            fmt::format("M{} {}.5h{}", column,
                        image.has_first_row_below ? image.rows - 1 - row : row, end - column);
      column = end;
    }
  std::string text;
  for (int i = 0; i < shades; ++i)
    if (const std::string& path = paths[i]; !path.empty())
      text += fmt::format(
          "<path d=\"{}\" stroke=\"{}\" stroke-opacity=\"{}\" stroke-width=\"1.02\"/>\n", path,
          colour_of(i), opacity);
  return text;
}

std::string shades(const Image& image) {
  const auto [low, high] = std::minmax_element(image.field.begin(), image.field.end());
  const float first = *low, span = std::max(*high - *low, 1e-20f);
  return runs(
      image, kShades,
      [&](std::size_t i) {
        return std::min(kShades - 1, static_cast<int>((image.field[i] - first) / span * kShades));
      },
      [&](int shade) {
        if (image.is_dark) return fmt::format("rgb({0},{0},{0})", shade * 255 / (kShades - 1));
        const int grey = 250 - shade * 170 / kShades;
        return fmt::format("rgb({},{},{})", grey, grey, std::min(255, grey + 8));
      },
      1);
}

}  // namespace

const char* mark_colour(int number) {
  return kColours[static_cast<std::size_t>(number) % std::size(kColours)];
}

std::string image_elements(const Image& image) {
  const auto pixels =
      static_cast<std::size_t>(image.rows) * static_cast<std::size_t>(image.columns);
  std::string text;
  if (pixels > 0 && image.field.size() == pixels) text += shades(image);
  if (image.marks.size() == pixels)
    text += runs(
        image, int(std::size(kColours)),
        [&](std::size_t i) { return image.marks[i] == 0 ? -1 : int(image.marks[i]); }, mark_colour,
        0.75);
  return text;
}

}  // namespace tutti::plot
