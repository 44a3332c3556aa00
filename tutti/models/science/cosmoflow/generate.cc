#include "tutti/models/science/cosmoflow/generate.h"

#include <algorithm>
#include <bit>

#include "tutti/core/random.h"
#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::cosmoflow {
namespace {

constexpr std::uint64_t kSeed = 20180813;

float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

void add_universe(train::H5File& file, const DataPlan& plan, std::uint64_t number) {
  Random random(mixed_seed(kSeed, number));
  std::vector<double> values;
  for (const Parameter& parameter : parameters(plan.variant))
    values.push_back(parameter.low + (parameter.high - parameter.low) * random.uniform());
  UniversePlan universe = plan.universe;
  if (plan.variant == Variant::kMlperf) universe.box *= values[3] / 0.7;
  std::vector<std::vector<float>> grids =
      make_universe(cosmology_of(plan.variant, values), universe, random.next());
  for (std::vector<float>& grid : grids)
    for (float& x : grid) x = rounded(x);
  const std::int64_t side = universe.cells / plan.cuts;
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(grids.size()), side, side,
                                           side};
  const std::vector<float> labels(values.begin(), values.end());
  each_subvolume(grids, universe.cells, plan.cuts, [&](const std::vector<float>& sample) {
    file.append("volumes", shape, sample);
    file.append("physPar", std::vector<std::int64_t>{std::int64_t(labels.size())}, labels);
  });
}

}  // namespace

int DataPlan::per_file() const {
  // Limits the work that an interruption loses to one file.
  constexpr std::int64_t kMostBytes = 256 << 20;
  const std::int64_t cells = universe.cells,
                     bytes = 4 * cells * cells * cells *
                             static_cast<std::int64_t>(universe.redshifts.size()),
                     most = std::clamp<std::int64_t>(kMostBytes / bytes, 1, 64);
  return static_cast<int>(
      std::clamp<std::int64_t>(std::max(train_universes, test_universes) / 64, 1, most));
}

double DataPlan::bytes_to_make() const {
  const double particles = double(universe.particles) * universe.particles * universe.particles,
               cells = double(universe.cells) * universe.cells * universe.cells;
  return kBytesPerParticle * particles + 2 * 4 * cells * double(universe.redshifts.size());
}

DataPlan data_plan(const Options& options) {
  DataPlan plan;
  plan.variant = options.choice<Variant>("variant");
  plan.cuts = static_cast<int>(options.integer("cuts"));
  plan.universe.cells = static_cast<int>(options.integer("volume")) * plan.cuts;
  plan.universe.particles = plan.universe.cells * static_cast<int>(options.integer("particles"));
  plan.universe.box = options.number("voxel") * plan.universe.cells;
  if (plan.variant == Variant::kMlperf) plan.universe.redshifts = {0, 0.5, 1.5, 3};
  plan.train_universes = options.integer("train_universes");
  plan.test_universes = options.integer("test_universes");
  plan.val_universes = options.integer("val_universes");
  return plan;
}

void each_subvolume(const std::vector<std::vector<float>>& grids, int side, int cuts,
                    const std::function<void(const std::vector<float>&)>& visit) {
  const int part = side / cuts;
  std::vector<float> sample;
  for (int subvolume = 0; subvolume < cuts * cuts * cuts; ++subvolume) {
    const int origin[3] = {subvolume / (cuts * cuts) * part, subvolume / cuts % cuts * part,
                           subvolume % cuts * part};
    sample.clear();
    for (const std::vector<float>& grid : grids)
      for (int x = 0; x < part; ++x)
        for (int y = 0; y < part; ++y) {
          const auto at = grid.begin() +
                          ((std::int64_t{origin[0]} + x) * side + origin[1] + y) * side + origin[2];
          sample.insert(sample.end(), at, at + part);
        }
    visit(sample);
  }
}

void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.train_universes,
                                    .test = plan.test_universes,
                                    .val = plan.val_universes,
                                    .per_file = plan.per_file(),
                                    .val_prefix = train::val_prefix(plan.val_universes)};
  const std::int64_t before[] = {0, plan.train_universes,
                                 plan.train_universes + plan.test_universes};
  train::generate_files(
      folder, files, rank, ranks, progress,
      [&](const train::GeneratedFile& file_plan, const train::FileProgress& report_progress) {
        train::H5File file(file_plan.path, train::H5File::Mode::kCreate);
        const std::int64_t earlier = before[static_cast<std::size_t>(file_plan.kind)];
        for (std::int64_t i = file_plan.first; i < file_plan.last; ++i) {
          add_universe(file, plan, static_cast<std::uint64_t>(earlier + i));
          report_progress(double(i + 1 - file_plan.first) /
                          double(file_plan.last - file_plan.first));
        }
        file.close();
      });
}

}  // namespace tutti::models::cosmoflow
