#include "tutti/plot/bars.h"

#include <algorithm>
#include <cmath>

#include "tutti/plot/chart.h"
#include "tutti/plot/internal/sheet.h"

namespace tutti::plot {
namespace {

// Layout in SVG user units: names to the left of the axis, values at the end of the bars.
constexpr double kNamesLeft = 40, kAxisLeft = 380, kAxisRight = 860;
constexpr double kBarHeight = 14, kRowHeight = 20, kGroupHeight = 34, kFoot = 62;
constexpr std::string_view kOver = "#0072b2", kUnder = "#d55e00";

class BarAxis {
 public:
  explicit BarAxis(const BarChart& chart) : is_logarithmic_(chart.is_logarithmic) {
    low_ = high_ = chart.origin;
    for (const BarGroup& group : chart.groups)
      for (const Bar& bar : group.bars)
        if (is_plottable(bar.value)) {
          low_ = std::min(low_, bar.value);
          high_ = std::max(high_, bar.value);
        }
    if (low_ == high_) high_ = low_ == 0 ? 1 : low_ * 2;
  }
  bool is_plottable(double value) const {
    return std::isfinite(value) && (!is_logarithmic_ || value > 0);
  }
  double position(double value) const {
    const double share = is_logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                         : (value - low_) / (high_ - low_);
    return kAxisLeft + share * (kAxisRight - kAxisLeft);
  }
  std::vector<double> ticks() const {
    return is_logarithmic_ ? log_ticks(low_, high_, 10, 9) : linear_ticks(low_, high_, 9);
  }

 private:
  bool is_logarithmic_;
  double low_, high_;
};

double height_of(const std::vector<BarGroup>& groups) {
  double height = 0;
  for (const BarGroup& group : groups)
    height += (group.name.empty() ? 0 : kGroupHeight) + kRowHeight * double(group.bars.size());
  return height;
}

void draw_axis(const BarChart& chart, const BarAxis& axis, double bottom, Sheet& sheet) {
  for (double tick : axis.ticks()) {
    sheet.put(R"(<path d="M{:.1f} {:.1f}V{:.1f}" stroke="{}"/>)", axis.position(tick), kSheetTop,
              bottom, kGrid);
    sheet.put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="{}">{}</text>)",
              axis.position(tick), bottom + 20, kPaleInk, plain_text(tick));
  }
  sheet.put(R"(<path d="M{0:.1f} {1:.1f}V{2:.1f}" stroke="{3}"/>)", axis.position(chart.origin),
            kSheetTop, bottom, kPaleInk);
  sheet.put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="{}">{}</text>)",
            (kAxisLeft + kAxisRight) / 2, bottom + 44, kInk, escaped(chart.label));
}

void draw_bar(const Bar& bar, double origin, const BarAxis& axis, double top, Sheet& sheet) {
  const double line = top + kBarHeight - 2.5;
  sheet.put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" fill="{}">{}</text>)", kAxisLeft - 12,
            line, kInk, escaped(bar.name));
  if (!axis.is_plottable(bar.value)) return;
  const auto [first, last] = std::minmax({axis.position(origin), axis.position(bar.value)});
  sheet.put(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" fill="{}"/>)", first, top,
            last - first, kBarHeight, bar.value < origin ? kUnder : kOver);
  sheet.put(R"(<text x="{:.1f}" y="{:.1f}" fill="{}">{}</text>)", last + 6, line, kPaleInk,
            escaped(bar.text.empty() ? plain_text(bar.value) : bar.text));
}

}  // namespace

std::string render_svg(const BarChart& chart) {
  const double bottom = kSheetTop + std::max(kRowHeight, height_of(chart.groups));
  Sheet sheet(kSheetWidth, bottom + kFoot, kNamesLeft, chart.title, chart.subtitle);
  if (height_of(chart.groups) == 0) {
    sheet.put(R"(<text x="{}" y="{}" fill="{}">no data</text>)", kNamesLeft, kSheetTop + 24,
              kPaleInk);
    return sheet.take();
  }
  const BarAxis axis(chart);
  draw_axis(chart, axis, bottom, sheet);
  double top = kSheetTop;
  for (const BarGroup& group : chart.groups) {
    if (!group.name.empty()) {
      sheet.put(R"(<text x="{}" y="{:.1f}" font-weight="700" fill="{}">{}</text>)", kNamesLeft,
                top + kGroupHeight - 12, kInk, escaped(group.name));
      top += kGroupHeight;
    }
    for (const Bar& bar : group.bars) {
      draw_bar(bar, chart.origin, axis, top + (kRowHeight - kBarHeight) / 2, sheet);
      top += kRowHeight;
    }
  }
  return sheet.take();
}

}  // namespace tutti::plot
