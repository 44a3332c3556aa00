#include "tutti/tune/search/auto_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "tutti/tune/search/cma_es.h"
#include "tutti/tune/search/gp.h"
#include "tutti/tune/search/nsga2.h"
#include "tutti/tune/search/tpe.h"

namespace tutti::tune {
namespace {

// Gaussian processes need the fewest trials, but their time grows with the cube of the number of trials, and they do
// not gain from parameters that rarely occur.
constexpr std::int64_t kMostGpTrials = 300;
constexpr std::size_t kMostGpParameters = 25;
constexpr int kMostGpParallel = 16;
// From this number of trials per parameter on, CMA-ES ends nearer to the optimum than TPE.
constexpr std::int64_t kCmaTrialsPerParameter = 200;
constexpr std::int64_t kMostParetoTrials = 200;

bool is_numeric(const Space& space) {
  return std::none_of(space.begin(), space.end(), [](const Parameter& one) {
    return one.distribution.is_categorical() || one.is_conditional();
  });
}

bool has_conditions(const Space& space, const Space& joint) {
  return space.size() != joint.size() ||
         std::any_of(space.begin(), space.end(),
                     [](const Parameter& one) { return one.is_conditional(); });
}

class AutoSampler : public Sampler {
 public:
  explicit AutoSampler(const SearchPlan& plan)
      : Sampler(plan.seed),
        plan_(plan),
        gp_(make_gp_sampler({}, plan.seed)),
        tpe_(make_tpe_sampler({}, plan.seed)),
        cma_es_(make_cma_es_sampler({}, plan.seed)),
        nsga2_(make_nsga2_sampler({}, plan.seed)) {}

  Suggestion suggest(const History& history, const Space& space, std::int64_t number) override {
    return chosen(history, space).suggest(history, space, number);
  }

  double suggest_alone(const History& history, const Parameter& parameter,
                       std::int64_t number) override {
    return tpe_->suggest_alone(history, parameter, number);
  }

  Space joint_space(const History& history) override { return tpe_->joint_space(history); }

  std::string reason() const override { return reason_; }

 private:
  Sampler& chosen(const History& history, const Space& space) {
    const auto trials = std::max(plan_.trials, static_cast<std::int64_t>(history.trials().size()));
    const auto parameters = static_cast<std::int64_t>(space.size());
    if (history.objectives() > 1 && trials > kMostParetoTrials) {
      return because("nsga2",
                     fmt::format("{} objectives and {} trials", history.objectives(), trials),
                     *nsga2_);
    }
    const Space joint = plan_.space.empty() ? intersection_space(history) : plan_.space;
    if (has_conditions(space, joint)) {
      return because("tpe", "some parameters exist only in some trials", *tpe_);
    }
    if (trials <= kMostGpTrials && space.size() <= kMostGpParameters &&
        plan_.parallel <= kMostGpParallel) {
      return because("gp",
                     fmt::format("at most {} trials of at most {} parameters", kMostGpTrials,
                                 kMostGpParameters),
                     *gp_);
    }
    if (is_numeric(space) && history.objectives() == 1 &&
        trials >= kCmaTrialsPerParameter * parameters) {
      return because("cma_es",
                     fmt::format("{} trials of {} numeric parameters", trials, parameters),
                     *cma_es_);
    }
    return because("tpe", fmt::format("{} trials of {} parameters", trials, parameters), *tpe_);
  }

  Sampler& because(const std::string& name, const std::string& reason, Sampler& sampler) {
    reason_ = fmt::format("{}: {}", name, reason);
    return sampler;
  }

  SearchPlan plan_;
  std::unique_ptr<Sampler> gp_, tpe_, cma_es_, nsga2_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Sampler> make_auto_sampler(const SearchPlan& plan) {
  return std::make_unique<AutoSampler>(plan);
}

}  // namespace tutti::tune
