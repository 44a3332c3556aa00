// Line charts in SVG with logarithmic or linear axes. Equal charts produce identical bytes on every machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tutti::plot {

// `low` and `high` bound the range of the measurements, drawn as a pale band behind the line; both 0: none. At a point
// without a range, such as a single measurement, the band narrows to the line.
struct Point {
  double x = 0, y = 0, low = 0, high = 0;
};

enum class LineStyle {
  kOurs,   // thick, on top: the main result
  kPeer,   // thin: results to compare with
  kBound,  // grey and dashed: a limit or reference
};

struct Series {
  std::string name;  // label at the end of the line; may be empty
  LineStyle style = LineStyle::kPeer;
  std::vector<Point> points;  // ascending in x
};

struct Axis {
  std::string label;
  double base = 10;                         // logarithmic axis: ticks at powers of it
  std::function<std::string(double)> text;  // formats the label of a tick; required
  bool is_linear = false;
  bool is_whole = false;  // linear axis: ticks at integers only
};

struct Chart {
  std::string title, subtitle;
  Axis x, y;
  std::vector<Series> series;
};

// Renders the chart as an SVG document. Points that are not finite, or not positive on a logarithmic axis, are skipped.
// A chart without points shows its title and "no data".
std::string render_svg(const Chart& chart);

// Ticks of a logarithmic axis from `low` to `high`, ascending: powers of `base`, with a stride that keeps their number
// at or below `most`. Base 10 adds 2 and 5 times a power if there is room, and uses linear ticks if there would be
// fewer than three.
std::vector<double> log_ticks(double low, double high, double base, int most);
// Ticks of a linear axis, ascending: multiples of 1, 2 or 5 times a power of ten. The step is the smallest that divides
// the axis into at most `most` intervals.
std::vector<double> linear_ticks(double low, double high, int most);

// Formats a number with up to six significant digits: "0.25", "12000", "1e-05".
std::string plain_text(double value);

}  // namespace tutti::plot
