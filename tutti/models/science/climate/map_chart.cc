#include "tutti/models/science/climate/map_chart.h"

#include <fmt/format.h>

namespace tutti::models::climate {
namespace {

constexpr int kShades = 14;
constexpr double kWidth = 720, kTitle = 24;
constexpr const char* kColours[] = {"#000000", "#d62728", "#1f77b4", "#2ca02c", "#ff7f0e"};

const char* colour(int number) {
  return kColours[static_cast<std::size_t>(number) % std::size(kColours)];
}

// One path per shade: every run of equal places of a row is a short stroke. `shade_of` gives a
// number per place, -1 for nothing.
template <class ShadeOf, class ColourOf>
std::string runs(const Grid& grid, int shades, ShadeOf shade_of, ColourOf colour_of,
                 double opacity) {
  std::vector<std::string> paths(static_cast<std::size_t>(shades));
  for (int row = 0; row < grid.rows; ++row)
    for (int column = 0; column < grid.columns;) {
      const int shade = shade_of(grid.at(row, column));
      int end = column + 1;
      while (end < grid.columns && shade_of(grid.at(row, end)) == shade) ++end;
      if (shade >= 0)
        paths[static_cast<std::size_t>(shade)] +=
            fmt::format("M{} {}.5h{}", column, grid.rows - 1 - row, end - column);
      column = end;
    }
  std::string text;
  for (int i = 0; i < shades; ++i)
    if (const std::string& path = paths[static_cast<std::size_t>(i)]; !path.empty())
      text += fmt::format(
          "<path d=\"{}\" stroke=\"{}\" stroke-opacity=\"{}\" stroke-width=\"1.02\"/>\n", path,
          colour_of(i), opacity);
  return text;
}

std::string field_paths(const Grid& grid, std::span<const float> field) {
  const auto [low, high] = std::minmax_element(field.begin(), field.end());
  const float first = *low, span = std::max(*high - *low, 1e-20f);
  return runs(
      grid, kShades,
      [&](std::size_t i) {
        return std::min(kShades - 1, static_cast<int>((field[i] - first) / span * kShades));
      },
      [](int shade) {
        const int grey = 250 - shade * 170 / kShades;
        return fmt::format("rgb({},{},{})", grey, grey, std::min(255, grey + 8));
      },
      1);
}

std::string box_path(const Grid& grid, const MapBox& box) {
  const Box& b = box.box;
  std::string text = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\" "
      "{}/>\n",
      b.column_min, grid.rows - b.row_max, b.column_max - b.column_min, b.row_max - b.row_min,
      colour(box.colour), grid.columns / 300.0, box.is_dashed ? "stroke-dasharray=\"1 1\"" : "");
  if (!box.text.empty())
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" stroke=\"none\">{}</text>\n",
        b.column_min, grid.rows - b.row_max - 0.4, grid.columns / 50.0, colour(box.colour),
        box.text);
  return text;
}

}  // namespace

std::string map_svg(const Grid& grid, std::span<const MapPanel> panels,
                    std::span<const Legend> legend) {
  const double scale = kWidth / grid.columns, height = scale * grid.rows;
  const double all = kTitle + double(panels.size()) * (height + kTitle);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, all);
  double y = kTitle;
  for (const MapPanel& panel : panels) {
    text +=
        fmt::format("<text x=\"4\" y=\"{:.0f}\" font-size=\"13\">{}</text>\n", y - 7, panel.title);
    text += fmt::format("<g transform=\"translate(0 {:.1f}) scale({:.4f})\" fill=\"none\">\n", y,
                        scale);
    if (panel.field.size() == grid.size()) text += field_paths(grid, panel.field);
    if (panel.marks.size() == grid.size())
      text += runs(
          grid, int(std::size(kColours)),
          [&](std::size_t i) { return panel.marks[i] == 0 ? -1 : int(panel.marks[i]); }, colour,
          0.75);
    for (const MapBox& box : panel.boxes) text += box_path(grid, box);
    text += "</g>\n";
    y += height + kTitle;
  }
  double x = 4;
  for (const Legend& entry : legend) {
    text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"10\" height=\"10\" fill=\"{}\"/>",
                        x, y - 16, colour(entry.colour));
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\">{}</text>\n", x + 14,
                        y - 7, entry.text);
    x += 30 + 7.0 * double(entry.text.size());
  }
  return text + "</svg>\n";
}

}  // namespace tutti::models::climate
