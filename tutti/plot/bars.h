// Horizontal bar charts in SVG, for categories without an order. Equal charts produce identical bytes on every machine.
#pragma once

#include <string>
#include <vector>

namespace tutti::plot {

struct Bar {
  std::string name;
  double value = 0;
  std::string text;  // label at the end of the bar; empty: the value
};

struct BarGroup {
  std::string name;  // heading above the bars; empty: none
  std::vector<Bar> bars;
};

// Bars start at `origin`, which must be positive on a logarithmic axis. Values below it extend to the left, in another
// colour. Values that are not finite, or not positive on a logarithmic axis, have a name but no bar.
struct BarChart {
  std::string title, subtitle, label;  // label: of the axis
  std::vector<BarGroup> groups;
  double origin = 0;
  bool is_logarithmic = false;
};

// Renders the chart as an SVG document. The height depends on the number of bars. A chart without bars shows "no data".
std::string render_svg(const BarChart& chart);

}  // namespace tutti::plot
