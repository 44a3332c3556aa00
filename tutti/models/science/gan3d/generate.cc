#include "tutti/models/science/gan3d/generate.h"

#include <algorithm>

#include "tutti/core/random.h"
#include "tutti/models/science/gan3d/shower.h"

namespace tutti::models::gan3d {
namespace {

constexpr std::uint64_t kSeed = 20181008;
constexpr float kElectron = 11;

}  // namespace

std::int64_t DataPlan::per_file() const {
  return std::clamp<std::int64_t>(std::max(train_showers, test_showers) / 16, 1, 10000);
}

void add_showers(train::H5File& file, std::span<const double> energies,
                 std::span<const float> cells) {
  std::vector<float> targets;
  for (double energy : energies) {
    targets.push_back(kElectron);
    targets.push_back(static_cast<float>(energy));
  }
  file.append("ECAL", std::vector<std::int64_t>{kSide, kSide, kSide}, cells);
  file.append("target", std::vector<std::int64_t>{2}, targets);
}

void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.train_showers,
                                    .test = plan.test_showers,
                                    .val = plan.val_showers,
                                    .per_file = plan.per_file(),
                                    .val_prefix = train::val_prefix(plan.val_showers)};
  const std::int64_t earlier[] = {0, plan.train_showers, plan.train_showers + plan.test_showers};
  train::generate_files(
      folder, files, rank, ranks, progress,
      [&](const train::GeneratedFile& file_plan, const train::FileProgress& report_progress) {
        train::H5File file(file_plan.path, train::H5File::Mode::kCreate);
        const std::int64_t before = earlier[static_cast<std::size_t>(file_plan.kind)];
        for (std::int64_t i = before + file_plan.first; i < before + file_plan.last; ++i) {
          Random random(mixed_seed(kSeed, static_cast<std::uint64_t>(i)));
          const double energy = kLowest + (kHighest - kLowest) * random.uniform();
          add_showers(file, {&energy, 1}, make_shower(energy, random));
          report_progress(double(i + 1 - before - file_plan.first) /
                          double(file_plan.last - file_plan.first));
        }
        file.close();
      });
}

}  // namespace tutti::models::gan3d
