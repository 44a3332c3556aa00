#include "tutti/train/run/plots.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>

#include "tutti/os/text_file.h"
#include "tutti/runs/training_log.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Plots : public testing::Test {
 protected:
  Plots() {
    std::string form = fs::temp_directory_path() / "plots-XXXXXX";
    base_ = mkdtemp(form.data());
  }
  ~Plots() override { fs::remove_all(base_); }
  fs::path base_;
};

TEST_F(Plots, AreSvgAndPng) {
  runs::RunLog(base_, 0).step(1, 0.1, {{"loss", 1.0}});
  const std::vector<fs::path> plots = plot_run(base_);
  ASSERT_EQ(plots.size(), 2u) << "is rsvg-convert installed?";
  EXPECT_THAT(os::read_text(plots[0]), HasSubstr("<svg"));
  EXPECT_THAT(os::read_text(plots[1]), testing::StartsWith("\x89PNG"));
}

TEST_F(Plots, ManyNoisyStepsAreDrawnAsMeansWithTheirSpread) {
  {
    runs::RunLog log(base_, 0);
    for (int step = 1; step <= 600; ++step) log.step(step, 0, {{"loss", step % 2 ? 1.0 : 3.0}});
  }
  const std::string picture = os::read_text(plot_run(base_)[0]);
  EXPECT_THAT(picture, HasSubstr("fill-opacity"));  // the band
  const auto line = picture.find("stroke-linejoin");
  const auto path = picture.rfind("<path d=", line);
  const std::string_view drawn(picture.data() + path, line - path);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 'L'), 59) << drawn;
}

TEST_F(Plots, ValidationsAreACurveFromTheSecondOn) {
  {
    runs::RunLog log(base_, 0);
    for (int step : {1, 2, 3, 4}) log.step(step, step / 2.0, {{"loss", -0.5 * step}});
    for (int epoch : {1, 2}) log.validation(2 * epoch, epoch, {{"skill", 0.1 * epoch}, {"z", 1}});
  }
  plot_run(base_);
  EXPECT_THAT(os::read_text(base_ / "plots/validation.svg"),
              HasSubstr(">skill, on validation data"));
  EXPECT_THAT(os::read_text(base_ / "plots/loss.svg"), HasSubstr(">-1.6<"));  // has no logarithm
  runs::cut_metrics(base_, 3);
  fs::remove(base_ / "plots/validation.svg");
  plot_run(base_);  // one point is not a curve
  EXPECT_FALSE(fs::exists(base_ / "plots/validation.svg"));
}

}  // namespace
}  // namespace tutti::train
