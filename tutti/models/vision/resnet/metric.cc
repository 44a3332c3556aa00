#include "tutti/models/vision/resnet/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/plot/bars.h"

namespace tutti::models::resnet {
namespace {

constexpr std::size_t kMostBars = 40;

}  // namespace

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
  for (std::int64_t label : set.labels())
    if (label < 0 || label >= classes)
      throw IoError("DDL-7-77", fmt::format("An image has the label {}, but `classes` is {}. Set "
                                            "`classes` to the number of classes.",
                                            label, classes));
}

std::string class_plot(const Confusion& confusion, bool has_shape_names) {
  auto name_of = [&](int label) {
    return has_shape_names && label < kShapes ? std::string(shape_names()[label])
                                              : fmt::format("class {}", label);
  };
  std::vector<plot::Bar> bars;
  for (int label = 0; label < confusion.classes(); ++label) {
    double all = 0;
    int other = -1;  // most frequent wrong class
    for (int named = 0; named < confusion.classes(); ++named) {
      all += confusion.count(label, named);
      if (named != label &&
          confusion.count(label, named) > (other < 0 ? 0 : confusion.count(label, other)))
        other = named;
    }
    if (all == 0) continue;
    plot::Bar bar{name_of(label), confusion.count(label, label) / all, ""};
    bar.text = fmt::format("{:.0f} %", 100 * bar.value);
    if (other >= 0)
      bar.name += fmt::format(" (or {}: {:.0f} %)", name_of(other),
                              100 * confusion.count(label, other) / all);
    bars.push_back(bar);
  }
  std::stable_sort(bars.begin(), bars.end(),
                   [](const plot::Bar& a, const plot::Bar& b) { return a.value < b.value; });
  if (bars.size() > kMostBars) bars.resize(kMostBars);
  return plot::render_svg(plot::BarChart{
      fmt::format("Accuracy: {:.1f} % of {:.0f} images", 100 * confusion.top1(), confusion.total()),
      "by class, lowest first; in brackets the most frequent wrong class",
      "accuracy",
      {{"", bars}}});
}

}  // namespace tutti::models::resnet
