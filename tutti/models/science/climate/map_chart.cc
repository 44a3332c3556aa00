#include "tutti/models/science/climate/map_chart.h"

#include <fmt/format.h>

#include "tutti/plot/image.h"

namespace tutti::models::climate {
namespace {

using plot::mark_colour;
constexpr double kWidth = 720, kTitle = 24;

std::string box_path(const Grid& grid, const MapBox& box) {
  const Box& b = box.box;
  std::string text = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" stroke=\"{}\" "
      "stroke-width=\"{}\" "
      "{}/>\n",
      b.column_min, grid.rows - b.row_max, b.column_max - b.column_min, b.row_max - b.row_min,
      mark_colour(box.colour), grid.columns / 300.0,
      box.is_dashed ? "stroke-dasharray=\"1 1\"" : "");
  if (!box.text.empty())
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" stroke=\"none\">{}</text>\n",
        b.column_min, grid.rows - b.row_max - 0.4, grid.columns / 50.0, mark_colour(box.colour),
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
    text += plot::image_elements({grid.rows, grid.columns, panel.field, panel.marks, true});
    for (const MapBox& box : panel.boxes) text += box_path(grid, box);
    text += "</g>\n";
    y += height + kTitle;
  }
  double x = 4;
  for (const Legend& entry : legend) {
    text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"10\" height=\"10\" fill=\"{}\"/>",
                        x, y - 16, mark_colour(entry.colour));
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\">{}</text>\n", x + 14,
                        y - 7, entry.text);
    x += 30 + 7.0 * double(entry.text.size());
  }
  return text + "</svg>\n";
}

}  // namespace tutti::models::climate
