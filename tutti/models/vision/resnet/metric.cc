#include "tutti/models/vision/resnet/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/plot/chart.h"

namespace tutti::models::resnet {

void Confusion::add(std::int64_t label, std::span<const std::int64_t> best) {
  counts_[static_cast<std::size_t>(label * classes_ + best.front())] += 1;
  if (std::find(best.begin(), best.end(), label) != best.end()) counts_.back() += 1;
}

double Confusion::total() const {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < counts_.size(); ++i) sum += counts_[i];
  return sum;
}

double Confusion::top1() const {
  double right = 0;
  for (int i = 0; i < classes_; ++i) right += count(i, i);
  return right / std::max(1.0, total());
}

double Confusion::top1_error() const {
  return std::sqrt(top1() * (1 - top1()) / std::max(1.0, total()));
}

double Confusion::top5() const {
  return counts_.back() / std::max(1.0, total());
}

void check_labels(const ImageSet& set, int classes) {
  for (std::int64_t label : set.labels)
    if (label < 0 || label >= classes)
      throw IoError("DDL-7-77", fmt::format("A picture has the label {}, but `classes` is {}. Set "
                                            "`classes` to the number of them.",
                                            label, classes));
}

std::string class_plot(const Confusion& confusion, bool has_shape_names) {
  plot::Chart chart;
  chart.title = fmt::format("Named rightly: {:.1f} % of {:.0f} pictures", 100 * confusion.top1(),
                            confusion.total());
  chart.x = {"class", 10, {}, true};
  chart.x.text = [&](double x) {
    const auto i = static_cast<std::size_t>(std::lround(x));
    return has_shape_names && i < kShapes && std::abs(x - std::round(x)) < 1e-6
               ? std::string(shape_names()[i])
               : plot::plain_text(x);
  };
  chart.y = {"share", 10, plot::plain_text, true};
  plot::Series right{"right", plot::LineStyle::kOurs, {}},
      most{"the most frequent error", plot::LineStyle::kPeer, {}};
  for (int i = 0; i < confusion.classes(); ++i) {
    double all = 0, worst = 0;
    for (int k = 0; k < confusion.classes(); ++k) {
      all += confusion.count(i, k);
      if (k != i) worst = std::max(worst, confusion.count(i, k));
    }
    right.points.push_back({double(i), confusion.count(i, i) / std::max(1.0, all)});
    most.points.push_back({double(i), worst / std::max(1.0, all)});
  }
  chart.series = {right, most};
  return plot::render_svg(chart);
}

}  // namespace tutti::models::resnet
