#include "tutti/models/science/hep/generate.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tutti/core/random.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::hep {
namespace {

constexpr double kLuminosity = 3.6e13;  // 36,000 / pb, per millibarn
constexpr std::uint64_t kSeed = 20170517;

// A file that is appended event by event, because a thousand large images would take gigabytes. Weights are known only
// after all events of a slice.
class EventWriter {
 public:
  EventWriter(const std::filesystem::path& path, const FilePlan& plan,
              const train::FileProgress& report_progress)
      : file_(path, train::H5File::Mode::kCreate),
        shape_{3, plan.image_size, plan.image_size},
        all_(std::accumulate(plan.background.begin(), plan.background.end(), plan.signal)),
        report_progress_(report_progress) {}

  void add(const Event& event) {
    file_.append("data", shape_, event.image);
    weights_.push_back(event.weight);
    values_["label"].push_back(event.is_signal);
    values_["normweight"].push_back(1);
    values_["psr"].push_back(event.selection.passes_cuts());
    values_["jz"].push_back(static_cast<float>(event.slice));
    values_["n_jets"].push_back(static_cast<float>(event.selection.jets));
    values_["mass_sum"].push_back(static_cast<float>(event.selection.mass_sum));
    values_["delta_eta"].push_back(static_cast<float>(event.selection.delta_eta));
    values_["leading_pt"].push_back(static_cast<float>(event.selection.leading_pt));
    report_progress_(double(weights_.size()) / double(all_));
  }
  std::size_t size() const { return weights_.size(); }
  // Multiplies the weights of the events from `first` on.
  void scale(std::size_t first, double factor) {
    for (std::size_t i = first; i < weights_.size(); ++i) weights_[i] *= factor;
  }
  void close() {
    for (double weight : weights_) values_["weight"].push_back(static_cast<float>(weight));
    for (const auto& [name, column] : values_) file_.append(name, {}, column);
    file_.close();
  }

 private:
  train::H5File file_;
  const std::vector<std::int64_t> shape_;
  const std::int64_t all_;
  const train::FileProgress& report_progress_;
  std::vector<double> weights_;
  std::map<std::string, std::vector<float>> values_;
};

// Simulates until `wanted` events have passed. Their weights then give the cross-section of the part of the slice that
// passes.
void fill(const Slice* slice, std::int64_t wanted, int image_size, Random& random,
          EventWriter& out) {
  const std::size_t first = out.size();
  std::int64_t tries = 0;
  while (out.size() < first + static_cast<std::size_t>(wanted)) {
    ++tries;
    if (const std::optional<Event> event = collide(slice, image_size, random)) out.add(*event);
  }
  const double cross_section = slice ? slice->cross_section : kSignalCrossSection;
  if (tries > 0) out.scale(first, cross_section * kLuminosity / static_cast<double>(tries));
}

void make_file(const std::filesystem::path& path, const FilePlan& plan, std::uint64_t number,
               const train::FileProgress& report_progress) {
  Random random(mixed_seed(kSeed, number));
  EventWriter out(path, plan, report_progress);
  fill(nullptr, plan.signal, plan.image_size, random, out);
  for (std::size_t i = 0; i < plan.background.size(); ++i)
    fill(&slices()[i], plan.background[i], plan.image_size, random, out);
  out.close();
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

// Training needs equal numbers of signal and background, and of every slice. The test set needs most events in the
// slices with the largest weight per event: the soft ones, which are frequent in nature.
DataPlan data_plan(std::int64_t train_events, std::int64_t test_events, std::int64_t val_events,
                   int image_size) {
  auto files_of = [](std::int64_t events) {
    return static_cast<int>(std::clamp<std::int64_t>(events / 500, 2, 64));
  };
  DataPlan plan;
  plan.files = files_of(std::max(train_events, test_events));
  plan.train = file_plan(train_events / plan.files, 0.5, {0.2, 0.2, 0.2, 0.2, 0.2}, image_size);
  const std::vector<double> test_shares = {0.40, 0.28, 0.16, 0.10, 0.06};
  plan.test = file_plan(test_events / plan.files, 0.2, test_shares, image_size);
  plan.val_events = val_events;
  plan.val_files = val_events > 0 ? files_of(val_events) : 0;
  if (plan.val_files > 0)
    plan.val = file_plan(val_events / plan.val_files, 0.2, test_shares, image_size);
  return plan;
}

void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress) {
  const train::GeneratedFiles files{.train = plan.files,
                                    .test = plan.files,
                                    .val = plan.val_files,
                                    .digits = 3,
                                    .val_prefix = train::val_prefix(plan.val_events)};
  train::generate_files(
      folder, files, rank, ranks, progress,
      [&](const train::GeneratedFile& file, const train::FileProgress& report_progress) {
        const auto kind = static_cast<std::size_t>(file.kind);
        const FilePlan* const plans[] = {&plan.train, &plan.test, &plan.val};
        const std::uint64_t before = kind * static_cast<std::uint64_t>(plan.files);
        make_file(file.path, *plans[kind], before + static_cast<std::uint64_t>(file.number),
                  report_progress);
      });
}

}  // namespace tutti::models::hep
