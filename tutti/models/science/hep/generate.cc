#include "tutti/models/science/hep/generate.h"

#include <algorithm>
#include <map>

#include "tutti/train/data/h5.h"
#include "tutti/train/data/made_files.h"

namespace tutti::models::hep {
namespace {

constexpr double kLuminosity = 3.6e13;  // 36,000 / pb, per millibarn
constexpr std::uint64_t kSeed = 20170517;

struct Columns {
  void add(const Event& event, double weight) {
    events.push_back(event);
    weights.push_back(weight);
  }
  std::vector<Event> events;
  std::vector<double> weights;
};

// Collides until `wanted` events have passed. Their weights then give the cross-section of the part
// of the slice that passes.
void fill(const Slice* slice, std::int64_t wanted, int image_size, train::Random& random,
          Columns& out) {
  const std::size_t first = out.events.size();
  std::int64_t tries = 0;
  while (out.events.size() < first + static_cast<std::size_t>(wanted)) {
    ++tries;
    if (std::optional<Event> event = collide(slice, image_size, random))
      out.add(*event, event->weight);
  }
  const double cross_section = slice ? slice->cross_section : kSignalCrossSection;
  for (std::size_t i = first; i < out.weights.size(); ++i)
    out.weights[i] *= cross_section * kLuminosity / static_cast<double>(tries);
}

void write(const std::filesystem::path& path, const FilePlan& plan, const Columns& columns) {
  train::H5File file(path, train::H5File::Mode::kCreate);
  const std::vector<std::int64_t> shape = {3, plan.image_size, plan.image_size};
  std::map<std::string, std::vector<float>> values;
  for (std::size_t i = 0; i < columns.events.size(); ++i) {
    const Event& event = columns.events[i];
    file.append("data", shape, event.image);
    values["label"].push_back(event.is_signal);
    values["weight"].push_back(static_cast<float>(columns.weights[i]));
    values["normweight"].push_back(1);
    values["psr"].push_back(event.selection.passes_cuts());
    values["jz"].push_back(static_cast<float>(event.slice));
    values["n_jets"].push_back(static_cast<float>(event.selection.jets));
    values["mass_sum"].push_back(static_cast<float>(event.selection.mass_sum));
    values["delta_eta"].push_back(static_cast<float>(event.selection.delta_eta));
    values["leading_pt"].push_back(static_cast<float>(event.selection.leading_pt));
  }
  for (const auto& [name, column] : values) file.append(name, {}, column);
  file.close();
}

void make_file(const std::filesystem::path& path, const FilePlan& plan, std::uint64_t number) {
  train::Random random(train::mixed_seed(kSeed, number));
  Columns columns;
  fill(nullptr, plan.signal, plan.image_size, random, columns);
  for (std::size_t i = 0; i < plan.background.size(); ++i)
    fill(&slices()[i], plan.background[i], plan.image_size, random, columns);
  write(path, plan, columns);
}

FilePlan file_plan(std::int64_t events, double signal_share, const std::vector<double>& shares,
                   int image_size) {
  FilePlan plan{
      image_size, std::max<std::int64_t>(1, std::llround(double(events) * signal_share)), {}};
  const double background = double(events) * (1 - signal_share);
  for (double share : shares)
    plan.background.push_back(std::max<std::int64_t>(1, std::llround(background * share)));
  return plan;
}

}  // namespace

// Training wants as much signal as background and every slice alike. The test wants most where a
// single event weighs most: in the soft slices, which nature makes often.
DataPlan data_plan(std::int64_t train_events, std::int64_t test_events, int image_size) {
  DataPlan plan;
  const std::int64_t most = std::max(train_events, test_events);
  plan.files = static_cast<int>(std::clamp<std::int64_t>(most / 500, 2, 64));
  plan.train = file_plan(train_events / plan.files, 0.5, {0.2, 0.2, 0.2, 0.2, 0.2}, image_size);
  plan.test = file_plan(test_events / plan.files, 0.2, {0.40, 0.28, 0.16, 0.10, 0.06}, image_size);
  return plan;
}

void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const std::function<void(int, int)>& progress) {
  const train::MadeFiles files{.train = plan.files, .test = plan.files, .digits = 3};
  train::make_files(folder, files, rank, ranks, progress, [&](const train::MadeFile& file) {
    make_file(file.path, file.is_train ? plan.train : plan.test,
              static_cast<std::uint64_t>(file.number + (file.is_train ? 0 : plan.files)));
  });
}

}  // namespace tutti::models::hep
