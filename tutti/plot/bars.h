// Horizontal bars in groups, one below the other, as SVG text: quantities of things that have no
// order. The same chart gives the same bytes on every machine.
#pragma once

#include <string>
#include <vector>

namespace tutti::plot {

struct Bar {
  std::string name;
  double value = 0;
  std::string text;  // behind the bar; empty: the value
};

struct BarGroup {
  std::string name;  // above its bars; empty: none
  std::vector<Bar> bars;
};

// Bars begin at `origin`. On a logarithmic axis that must be positive, and values that are not have
// no bar. Those below it are drawn to the left, in the colour of peers.
struct BarChart {
  std::string title, subtitle, label;  // the label is that of the axis
  std::vector<BarGroup> groups;
  double origin = 0;
  bool is_logarithmic = false;
};

// As high as its bars need. Without any bar it says "no data".
std::string render_svg(const BarChart& chart);

}  // namespace tutti::plot
