// A line chart as SVG text, each axis logarithmic or linear. The same chart gives the same bytes on
// every machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tutti::plot {

// `low` and `high` bound the spread, drawn as a pale band behind the line; leave both 0 for none. A
// point without one among others that have it, of a single measurement, is where the band is
// closed.
struct Point {
  double x = 0, y = 0, low = 0, high = 0;
};

enum class LineStyle {
  kOurs,   // strong
  kPeer,   // thin
  kBound,  // grey and dashed: what cannot be passed
};

struct Series {
  std::string name;  // stands where the line ends; may be empty
  LineStyle style = LineStyle::kPeer;
  std::vector<Point> points;  // ascending in x
};

struct Axis {
  std::string label;
  double base = 10;                         // ticks stand at its powers
  std::function<std::string(double)> text;  // of a tick
  bool is_linear = false;
  bool is_whole = false;  // of a linear axis: ticks at whole numbers only
};

struct Chart {
  std::string title, subtitle;
  Axis x, y;
  std::vector<Series> series;
};

// Points that are not finite, or not positive on a logarithmic axis, have no place and are left
// out. A chart without any point is drawn with its title and "no data".
std::string render_svg(const Chart& chart);

// Values at which a logarithmic axis from `low` to `high` has ticks: powers of `base`, every second
// or third of them when there are more than `most`; for base 10 also 2 and 5 times when there is
// room, and those of a linear axis where these would be fewer than three.
std::vector<double> log_ticks(double low, double high, double base, int most);
// Of a linear axis: multiples of 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<double> linear_ticks(double low, double high, int most);

// A number as a tick says it: "0.25", "12000", "1e-05".
std::string plain_text(double value);

}  // namespace tutti::plot
