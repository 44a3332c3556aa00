#include "tutti/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "tutti/plot/internal/sheet.h"

namespace tutti::plot {
namespace {

// Layout in SVG user units. The names of the lines are in the right margin.
constexpr double kHeight = 560;
constexpr double kLeft = 92, kRight = kSheetWidth - 190, kBottom = kHeight - 70;
constexpr double kLabelHeight = 18;

// Colours that colour-blind readers can distinguish, after Okabe and Ito. Blues are for LineStyle::kOurs.
constexpr std::array<std::string_view, 3> kOurColours = {"#0072b2", "#4a9fd8", "#1b3a5c"};
constexpr std::array<std::string_view, 5> kPeerColours = {"#d55e00", "#009e73", "#cc79a7",
                                                          "#e69f00", "#6b4c9a"};
constexpr std::string_view kBoundColour = "#8a8f98";

// Maps values of an axis to coordinates.
struct Scale {
  double low, high;    // values
  double start, stop;  // coordinates
  bool is_linear = false;
  double position(double value) const {
    if (is_linear) return start + (stop - start) * (value - low) / (high - low);
    return start + (stop - start) * std::log(value / low) / std::log(high / low);
  }
};

bool is_plottable(double value, const Axis& axis) {
  return std::isfinite(value) && (axis.is_linear || value > 0);
}

bool has_spread(const Point& point) {
  return point.high > point.low && std::isfinite(point.high - point.low);
}

// A series with at least one point that can be drawn.
struct Line {
  const Series* series;
  std::vector<Point> points;
  std::string_view colour;
  double label_y = 0;
};

std::vector<Line> lines_of(const Chart& chart) {
  std::vector<Line> lines;
  std::size_t ours = 0, peers = 0;
  for (const Series& series : chart.series) {
    Line line{&series, {}, kBoundColour};
    std::copy_if(series.points.begin(), series.points.end(), std::back_inserter(line.points),
                 [&](const Point& point) {
                   return is_plottable(point.x, chart.x) && is_plottable(point.y, chart.y);
                 });
    if (series.style == LineStyle::kOurs) line.colour = kOurColours[ours++ % kOurColours.size()];
    if (series.style == LineStyle::kPeer) line.colour = kPeerColours[peers++ % kPeerColours.size()];
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

// Extends the limits by a fraction of their distance. A single value gets a margin on both sides.
void widen(Scale& scale, double share) {
  if (scale.is_linear) {
    const double room = scale.high > scale.low ? share * (scale.high - scale.low)
                                               : std::max(1e-12, std::abs(scale.low));
    if (scale.low != 0) scale.low -= room;  // an axis that starts at zero keeps it
    scale.high += room;
  } else if (scale.low == scale.high || share > 0) {
    const double factor = share > 0 ? std::pow(scale.high / scale.low, share) * 1.05 : 2;
    scale.low /= factor;
    scale.high *= factor;
  }
}

std::pair<Scale, Scale> scales_of(const Chart& chart, const std::vector<Line>& lines) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Scale x{kInf, -kInf, kLeft, kRight, chart.x.is_linear};
  Scale y{kInf, -kInf, kBottom, kSheetTop, chart.y.is_linear};
  for (const Line& line : lines) {
    for (const Point& point : line.points) {
      x.low = std::min(x.low, point.x);
      x.high = std::max(x.high, point.x);
      y.low = std::min(y.low, point.y);
      y.high = std::max(y.high, point.y);
      if (!has_spread(point)) continue;
      if (is_plottable(point.low, chart.y)) y.low = std::min(y.low, point.low);
      y.high = std::max(y.high, point.high);
    }
  }
  widen(y, 0.06);
  if (!x.is_linear || x.low == x.high) widen(x, 0);
  return {x, y};
}

std::vector<double> ticks_of(const Scale& scale, const Axis& axis) {
  if (!scale.is_linear) return log_ticks(scale.low, scale.high, axis.base, 12);
  std::vector<double> ticks = linear_ticks(scale.low, scale.high, 10);
  if (axis.is_whole) std::erase_if(ticks, [](double tick) { return tick != std::round(tick); });
  return ticks;
}

void draw_axes(const Chart& chart, const Scale& x, const Scale& y, Sheet& sheet) {
  sheet.put(R"(<g stroke="#e4e7eb" fill="#5c636e" stroke-width="1">)");
  for (double tick : ticks_of(x, chart.x)) {
    double position = x.position(tick);
    sheet.put(R"(<path d="M{0:.1f} {1:.1f}V{2:.1f}"/>)", position, kSheetTop, kBottom);
    sheet.put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" stroke="none">{}</text>)",
              position, kBottom + 22, escaped(chart.x.text(tick)));
  }
  for (double tick : ticks_of(y, chart.y)) {
    double position = y.position(tick);
    sheet.put(R"(<path d="M{0:.1f} {1:.1f}H{2:.1f}"/>)", kLeft, position, kRight);
    sheet.put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" stroke="none">{}</text>)",
              kLeft - 10, position + 4.5, escaped(chart.y.text(tick)));
  }
  sheet.put("</g>");
  sheet.put(R"(<path d="M{0} {1}H{2}" stroke="#5c636e" fill="none"/>)", kLeft, kBottom, kRight);
  sheet.put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="#1a1d21">{}</text>)",
            (kLeft + kRight) / 2, kBottom + 50, escaped(chart.x.label));
  sheet.put(
      R"svg(<text transform="translate(18 {:.1f}) rotate(-90)" text-anchor="middle" fill="#1a1d21">)svg"
      R"({}</text>)",
      (kSheetTop + kBottom) / 2, escaped(chart.y.label));
}

void draw_spread(const Line& line, const Scale& x, const Scale& y, Sheet& sheet) {
  if (!std::any_of(line.points.begin(), line.points.end(), has_spread)) return;
  std::string path;
  auto corner = [&](double px, double py) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.position(px),
                        std::clamp(y.position(py), kSheetTop, kBottom));
  };
  for (const Point& p : line.points) corner(p.x, has_spread(p) ? p.high : p.y);
  for (auto p = line.points.rbegin(); p != line.points.rend(); ++p)
    corner(p->x, has_spread(*p) ? p->low : p->y);
  sheet.put(R"(<path d="{}Z" fill="{}" fill-opacity="0.14"/>)", path, line.colour);
}

void draw_line(const Line& line, const Scale& x, const Scale& y, Sheet& sheet) {
  const LineStyle style = line.series->style;
  std::string path;
  for (const Point& point : line.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.position(point.x),
                        y.position(point.y));
  sheet.put(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round")"
            R"( stroke-linecap="round"{}/>)",
            path, line.colour, style == LineStyle::kOurs ? 3 : 1.8,
            style == LineStyle::kBound ? R"( stroke-dasharray="2 6")" : "");
  constexpr std::size_t kMostMarks = 60;  // more marks would merge into a thick line
  if (style == LineStyle::kBound || line.points.size() > kMostMarks) return;
  for (const Point& point : line.points)
    sheet.put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}" stroke="#ffffff"/>)",
              x.position(point.x), y.position(point.y), style == LineStyle::kOurs ? 4.5 : 3.5,
              line.colour);
}

// Places each label at the height where its line ends, then resolves overlaps in two passes: from top to bottom each
// label is moved below the previous one, then from bottom to top labels below the lower edge are moved up.
void spread_labels(std::vector<Line*>& lines, const Scale& y) {
  for (Line* line : lines) line->label_y = y.position(line->points.back().y);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line* a, const Line* b) { return a->label_y < b->label_y; });
  for (std::size_t i = 1; i < lines.size(); ++i)
    lines[i]->label_y = std::max(lines[i]->label_y, lines[i - 1]->label_y + kLabelHeight);
  double limit = kBottom - 4;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line, limit -= kLabelHeight)
    (*line)->label_y = std::min((*line)->label_y, limit);
}

void draw_labels(std::vector<Line>& lines, const Scale& x, const Scale& y, Sheet& sheet) {
  std::vector<Line*> order;
  for (Line& line : lines)
    if (!line.series->name.empty()) order.push_back(&line);
  spread_labels(order, y);
  for (const Line* line : order) {
    const Point& last = line->points.back();
    sheet.put(R"(<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}" stroke="{}" stroke-opacity="0.5"/>)",
              x.position(last.x) + 6, y.position(last.y), kRight + 18, line->label_y, line->colour);
    sheet.put(R"(<text x="{:.1f}" y="{:.1f}" fill="{}" font-weight="{}">{}</text>)", kRight + 24,
              line->label_y + 4.5, line->colour,
              line->series->style == LineStyle::kOurs ? 700 : 500, escaped(line->series->name));
  }
}

}  // namespace

std::vector<double> log_ticks(double low, double high, double base, int most) {
  const double slack = 1e-9;
  int first = static_cast<int>(std::ceil(std::log(low) / std::log(base) - slack));
  int last = static_cast<int>(std::floor(std::log(high) / std::log(base) + slack));
  int stride = std::max(1, (last - first + most) / most);
  std::vector<double> ticks;
  for (int power = first; power <= last; power += stride) ticks.push_back(std::pow(base, power));
  if (base != 10 || (last - first + 2) * 3 > most) return ticks;
  for (int power = first - 1; power <= last; ++power)
    for (double part : {2.0, 5.0})
      if (double tick = part * std::pow(base, power); tick >= low && tick <= high)
        ticks.push_back(tick);
  std::sort(ticks.begin(), ticks.end());
  constexpr std::size_t kLeast = 3;
  return ticks.size() < kLeast ? linear_ticks(low, high, most / 2) : ticks;
}

std::vector<double> linear_ticks(double low, double high, int most) {
  const double rough = (high - low) / std::max(1, most);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double part : {5.0, 2.0, 1.0})
    if (part * power >= rough) step = part * power;
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    ticks.push_back(k * step + 0.0);  // turns -0 into 0
  return ticks;
}

std::string plain_text(double value) {
  return fmt::format("{:.6g}", value);
}

std::string render_svg(const Chart& chart) {
  Sheet sheet(kSheetWidth, kHeight, kLeft, chart.title, chart.subtitle);
  std::vector<Line> lines = lines_of(chart);
  if (lines.empty()) {
    sheet.put(R"(<text x="{}" y="{}" fill="#5c636e">no data</text>)", kLeft, kSheetTop + 24);
  } else {
    auto [x, y] = scales_of(chart, lines);
    draw_axes(chart, x, y, sheet);
    for (const Line& line : lines) draw_spread(line, x, y, sheet);
    // LineStyle::kOurs is drawn last, on top of the others.
    for (bool ours : {false, true})
      for (const Line& line : lines)
        if ((line.series->style == LineStyle::kOurs) == ours) draw_line(line, x, y, sheet);
    draw_labels(lines, x, y, sheet);
  }
  return sheet.take();
}

}  // namespace tutti::plot
