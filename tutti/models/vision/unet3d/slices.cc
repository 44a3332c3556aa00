#include "tutti/models/vision/unet3d/slices.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/plot/image.h"

namespace tutti::models::unet3d {
namespace {

constexpr double kPanel = 230, kGap = 8, kTitle = 24;

// The plane along the last axis with the most tumour voxels.
int best_plane(int side, const std::vector<std::uint8_t>& labels) {
  std::vector<int> counts(static_cast<std::size_t>(side));
  for (std::size_t i = 0; i < labels.size(); ++i)
    counts[i % static_cast<std::size_t>(side)] += labels[i] != kHealthy;
  return static_cast<int>(std::ranges::max_element(counts) - counts.begin());
}

template <class T>
std::vector<T> plane_of(int side, int plane, const T* volume) {
  std::vector<T> values;
  for (int i = 0; i < side * side; ++i) values.push_back(volume[std::size_t(i) * side + plane]);
  return values;
}

std::string panel(int side, double x, double y, const std::vector<float>& field,
                  const std::vector<std::uint8_t>& marks) {
  return fmt::format(
      "<g transform=\"translate({:.1f} {:.1f}) scale({:.4f})\" fill=\"none\">\n{}</g>\n", x, y,
      kPanel / side, plot::image_elements({side, side, field, marks, false, true}));
}

}  // namespace

std::string slices_svg(int side, const std::vector<Slices>& heads) {
  const double width = 3 * kPanel + 4 * kGap,
               height = 2 * kTitle + double(heads.size()) * (kPanel + kGap);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" "
      "height=\"100%\" fill=\"white\"/>\n",
      width, height);
  const char* titles[] = {"T1 with contrast agent", "FLAIR and truth", "Prediction"};
  auto column = [](int i) { return kGap + i * (kPanel + kGap); };
  for (int i = 0; i < 3; ++i)
    text += fmt::format("<text x=\"{:.0f}\" y=\"16\">{}</text>\n", column(i), titles[i]);
  double y = kTitle;
  for (const Slices& head : heads) {
    const int plane = best_plane(side, head.scan.labels);
    const std::size_t voxels = head.scan.labels.size();
    const auto t1ce = plane_of(side, plane, head.scan.images.data() + kT1ce * voxels),
               flair = plane_of(side, plane, head.scan.images.data() + kFlair * voxels);
    text += panel(side, column(0), y, t1ce, {});
    text += panel(side, column(1), y, flair, plane_of(side, plane, head.scan.labels.data()));
    text += panel(side, column(2), y, flair, plane_of(side, plane, head.found.data()));
    y += kPanel + kGap;
  }
  double x = kGap;
  for (const auto& [label, name] :
       {std::pair(kNecrosis, "necrosis"), {kEnhancing, "enhancing rim"}, {kOedema, "oedema"}}) {
    text += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"10\" height=\"10\" fill=\"{}\"/><text "
        "x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x, y + 2, plot::mark_colour(label), x + 14, y + 12, name);
    x += 140;
  }
  return text + "</svg>\n";
}

}  // namespace tutti::models::unet3d
