// A head is a function of a point: the tissue there. A scan evaluates it once per voxel and looks up the brightness of
// that tissue in each modality. Coordinates are in [-1, 1] along each axis.
#include "tutti/models/vision/unet3d/head.h"

#include <array>
#include <cmath>

#include "tutti/models/vision/unet3d/solids.h"

namespace tutti::models::unet3d {
namespace {

double between(Random& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

enum Tissue {
  kAir,
  kScalp,
  kBone,
  kFluid,
  kGrey,
  kWhite,
  kSpot,
  kVessel,
  kSwelling,
  kDead,
  kRim,
  kTissues
};

// Brightness in t1, t1ce, flair, t2.
constexpr double kContrast[kTissues][kModalities] = {
    {0.00, 0.00, 0.00, 0.00}, {0.90, 0.95, 0.70, 0.75}, {0.15, 0.15, 0.10, 0.10},
    {0.25, 0.25, 0.15, 1.00}, {0.55, 0.57, 0.65, 0.65}, {0.75, 0.78, 0.50, 0.45},
    {0.60, 0.62, 0.90, 0.85}, {0.45, 1.05, 0.40, 0.40}, {0.50, 0.52, 0.92, 0.90},
    {0.32, 0.35, 0.50, 0.95}, {0.50, 1.08, 0.80, 0.75}};

std::uint8_t label_of(Tissue tissue) {
  switch (tissue) {
    case kSwelling: return kOedema;
    case kDead: return kNecrosis;
    case kRim: return kEnhancing;
    default: return kHealthy;
  }
}

// Distances from the centre of the head at which shells begin.
constexpr double kScalpFrom = 0.93, kBoneFrom = 0.86, kFluidFrom = 0.80, kGreyFrom = 0.66;

// Initialised with braces, which draw random numbers in the order in which they are written.
class Head {
 public:
  explicit Head(Random& random)
      : skull_{near({0, 0, 0}, 0.05, random),
               {between(random, 0.68, 0.78), between(random, 0.84, 0.94),
                between(random, 0.70, 0.82)},
               0.06,
               random},
        border_(4, random),
        folds_(11, random),
        tumour_border_(9, random),
        rim_from_(between(random, 0.55, 0.75)) {
    for (double side : {-0.1, 0.1})
      ventricles_.push_back(Ellipsoid{near({side, 0, 0.05}, 0.02, random),
                                      {0.07, between(random, 0.2, 0.32), 0.1},
                                      0.1,
                                      random});
    add_tumour(random);
    for (int i = 0; i < 3; ++i) {
      const double size = between(random, 0.05, 0.09);
      spots_.push_back(Ellipsoid{inside(random), {size, size, size}, 0, random});
      vessels_.push_back(
          Ellipsoid{inside(random), {0.25, 0.05, 0.05}, Ellipsoid::kAnyTurn, random});
    }
  }

  Tissue tissue(const Point& p) const {
    const double out = skull_.at(p) + 0.02 * border_.at(p);
    if (out > 1) return kAir;
    if (out > kScalpFrom) return kScalp;
    if (out > kBoneFrom) return kBone;
    if (out > kFluidFrom) return kFluid;
    const double uneven = 0.15 * tumour_border_.at(p);
    const double core = tumour_[1].at(p) + uneven;
    if (core < 1) return core < rim_from_ ? kDead : kRim;
    if (any(ventricles_, p)) return kFluid;
    if (tumour_[0].at(p) + 1.5 * uneven < 1) return kSwelling;
    if (any(vessels_, p)) return kVessel;
    if (any(spots_, p)) return kSpot;
    return out + 0.07 * folds_.at(p) > kGreyFrom ? kGrey : kWhite;
  }

 private:
  static Point near(const Point& point, double jitter, Random& random) {
    return {point[0] + jitter * (2 * random.uniform() - 1),
            point[1] + jitter * (2 * random.uniform() - 1),
            point[2] + jitter * (2 * random.uniform() - 1)};
  }
  static bool any(const std::vector<Ellipsoid>& all, const Point& p) {
    for (const Ellipsoid& each : all)
      if (each.at(p) < 1) return true;
    return false;
  }
  // A point in or near the white matter.
  Point inside(Random& random) const {
    for (;;) {
      const Point p = near({0, 0, 0}, 0.8, random);
      if (skull_.at(p) < 0.6) return p;
    }
  }
  void add_tumour(Random& random) {
    const double size = between(random, 0.22, 0.4), core = size * between(random, 0.55, 0.75);
    const Point centre = inside(random);
    for (double radius : {size, core})
      tumour_.push_back(Ellipsoid{
          near(centre, 0.1 * size, random),
          {radius, radius * between(random, 0.8, 1.25), radius * between(random, 0.8, 1.25)},
          Ellipsoid::kAnyTurn,
          random});
  }

  Ellipsoid skull_;
  SmoothField border_, folds_, tumour_border_;
  double rim_from_;
  std::vector<Ellipsoid> ventricles_, tumour_, spots_, vessels_;
};

// Image of the tissues in one modality, as a scanner records it.
class Scanner {
 public:
  Scanner(int modality, Random& random)
      : bias_(2, random),
        gain_(500 * std::exp(0.3 * random.gaussian())),
        noise_(between(random, 0.03, 0.07)) {
    for (std::size_t i = 0; i < kTissues; ++i)
      brightness_[i] = kContrast[i][modality] * (1 + 0.05 * random.gaussian());
  }
  float at(const Point& p, Tissue tissue, double texture, Random& random) const {
    const double signal = brightness_[tissue] * texture * std::exp(0.12 * bias_.at(p));
    const double real = signal + noise_ * random.gaussian(), imaginary = noise_ * random.gaussian();
    return static_cast<float>(std::round(gain_ * std::hypot(real, imaginary)));
  }

 private:
  SmoothField bias_;
  double gain_, noise_;
  std::array<double, kTissues> brightness_;
};

}  // namespace

Scan make_scan(int side, Random& random) {
  const Head head(random);
  const SmoothField texture(17, random);
  std::vector<Scanner> scanners;
  for (int modality = 0; modality < kModalities; ++modality)
    scanners.emplace_back(modality, random);
  const std::size_t n = static_cast<std::size_t>(side), voxels = n * n * n;
  Scan scan{std::vector<float>(kModalities * voxels), std::vector<std::uint8_t>(voxels)};
  auto middle = [side](std::size_t i) { return (2 * double(i) + 1) / side - 1; };
  for (std::size_t i = 0; i < voxels; ++i) {
    const Point p{middle(i / (n * n)), middle(i / n % n), middle(i % n)};
    const Tissue tissue = head.tissue(p);
    scan.labels[i] = label_of(tissue);
    const double local = 1 + 0.05 * texture.at(p);
    for (std::size_t modality = 0; modality < kModalities; ++modality)
      scan.images[modality * voxels + i] = scanners[modality].at(p, tissue, local, random);
  }
  return scan;
}

}  // namespace tutti::models::unet3d
