#include "tutti/models/science/gan3d/generate.h"

#include <fmt/format.h>

#include <algorithm>

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
              const std::function<void(int, int)>& progress) {
  std::filesystem::create_directories(folder);
  struct Job {
    std::filesystem::path path;
    std::int64_t first, last;  // showers
  };
  std::vector<Job> jobs;
  std::int64_t before = 0;
  for (const auto& [kind, showers] :
       {std::pair("train", plan.train_showers), std::pair("test", plan.test_showers)}) {
    for (std::int64_t first = 0; first < showers; first += plan.per_file())
      jobs.push_back({folder / fmt::format("{}-{:05}.h5", kind, first / plan.per_file()),
                      before + first, before + std::min(showers, first + plan.per_file())});
    before += showers;
  }
  const int all = static_cast<int>(jobs.size()), mine = (all - rank + ranks - 1) / ranks;
  for (int job = rank, done = 0; job < all; job += ranks) {
    const Job& each = jobs[static_cast<std::size_t>(job)];
    if (!std::filesystem::exists(each.path)) {
      train::H5File file(each.path, train::H5File::Mode::kCreate);
      for (std::int64_t i = each.first; i < each.last; ++i) {
        train::Random random(train::mixed_seed(kSeed, static_cast<std::uint64_t>(i)));
        const double energy = kLowest + (kHighest - kLowest) * random.uniform();
        add_showers(file, {&energy, 1}, make_shower(energy, random));
      }
      file.close();
    }
    if (progress) progress(++done, mine);
  }
}

}  // namespace tutti::models::gan3d
