// Covariance matrix adaptation evolution strategy (CMA-ES), after Hansen's tutorial, with its default constants.
//
// Points are drawn from a normal distribution. After each generation its mean moves to the weighted mean of the better
// half, and its covariance grows along directions in which that mean keeps moving (path of the covariance) and along
// the steps that were successful. The overall step size grows if successive moves point in one direction and shrinks if
// they cancel out (path of the step size).
//
// A trial notes its generation. The distribution of generation g follows from the trials of generations 0 to g-1, so it
// is computed again from the history when a study is resumed. Trials of a generation may run in parallel; the next
// generation starts as soon as enough of them have finished. Trials that finish later are not used.
#include "tutti/tune/search/cma_es.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tutti::tune {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr const char* kCmaGeneration = "cma:generation";
constexpr int kMostDraws = 20;  // attempts to stay within the cube
constexpr double kSmallestSpread = 1e-12;

// The search distribution and its adaptation.
class NormalSearch {
 public:
  NormalSearch(Index dimensions, int population, double width)
      : dimensions_(static_cast<double>(dimensions)),
        mean_(VectorXd::Constant(dimensions, 0.5)),
        covariance_(MatrixXd::Identity(dimensions, dimensions)),
        covariance_path_(VectorXd::Zero(dimensions)),
        step_path_(VectorXd::Zero(dimensions)),
        step_(width) {
    set_constants(population);
    decompose();
  }

  VectorXd draw(Random& random) const {
    VectorXd point;
    for (int attempt = 0; attempt < kMostDraws; ++attempt) {
      VectorXd normal(mean_.size());
      for (double& coordinate : normal) coordinate = random.gaussian();
      point = mean_ + step_ * (axes_ * (scales_.array() * normal.array()).matrix());
      if (point.minCoeff() >= 0 && point.maxCoeff() <= 1) return point;
    }
    return point.cwiseMax(0).cwiseMin(1);
  }

  // `points` are the columns of one generation, best first.
  void update(const MatrixXd& points) {
    const auto parents = static_cast<Index>(weights_.size());
    const VectorXd old_mean = mean_;
    mean_ = points.leftCols(parents) * weights_;
    const VectorXd move = (mean_ - old_mean) / step_;
    ++generations_;
    step_path_ = (1 - step_rate_) * step_path_ +
                 std::sqrt(step_rate_ * (2 - step_rate_) * mass_) *
                     (axes_ * ((axes_.transpose() * move).array() / scales_.array()).matrix());
    const double decay = 1 - std::pow(1 - step_rate_, 2.0 * generations_);
    const bool is_short =
        step_path_.norm() / std::sqrt(decay) < (1.4 + 2 / (dimensions_ + 1)) * expected_norm_;
    covariance_path_ = (1 - path_rate_) * covariance_path_;
    if (is_short) covariance_path_ += std::sqrt(path_rate_ * (2 - path_rate_) * mass_) * move;
    const double lost = is_short ? 0 : rank_one_rate_ * path_rate_ * (2 - path_rate_);
    const MatrixXd steps = (points.leftCols(parents).colwise() - old_mean) / step_;
    covariance_ = (1 - rank_one_rate_ - rank_mu_rate_ + lost) * covariance_ +
                  rank_one_rate_ * covariance_path_ * covariance_path_.transpose() +
                  rank_mu_rate_ * steps * weights_.asDiagonal() * steps.transpose();
    step_ *= std::exp(step_rate_ / damping_ * (step_path_.norm() / expected_norm_ - 1));
    step_ = std::min(step_, 1.0);
    decompose();
  }

 private:
  void set_constants(int population) {
    const int parents = population / 2;
    weights_.resize(parents);
    for (int i = 0; i < parents; ++i)
      weights_[i] = std::log((population + 1) / 2.0) - std::log(i + 1);
    weights_ /= weights_.sum();
    mass_ = 1 / weights_.squaredNorm();
    const double n = dimensions_;
    path_rate_ = (4 + mass_ / n) / (n + 4 + 2 * mass_ / n);
    step_rate_ = (mass_ + 2) / (n + mass_ + 5);
    rank_one_rate_ = 2 / ((n + 1.3) * (n + 1.3) + mass_);
    rank_mu_rate_ =
        std::min(1 - rank_one_rate_, 2 * (mass_ - 2 + 1 / mass_) / ((n + 2) * (n + 2) + mass_));
    damping_ = 1 + 2 * std::max(0.0, std::sqrt((mass_ - 1) / (n + 1)) - 1) + step_rate_;
    expected_norm_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  }

  void decompose() {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(covariance_);
    axes_ = solver.eigenvectors();
    scales_ = solver.eigenvalues().cwiseMax(kSmallestSpread).cwiseSqrt();
  }

  double dimensions_;
  VectorXd mean_;
  MatrixXd covariance_, axes_;
  VectorXd scales_;  // standard deviations along the axes
  VectorXd covariance_path_, step_path_;
  double step_;
  double generations_ = 0;
  // Constants: weights of the parents, their effective number, learning rates, damping of the step size.
  VectorXd weights_;
  double mass_ = 0, path_rate_ = 0, step_rate_ = 0, rank_one_rate_ = 0, rank_mu_rate_ = 0;
  double damping_ = 0, expected_norm_ = 0;
};

bool is_searched(const Parameter& parameter) {
  return !parameter.distribution.is_categorical() && !parameter.distribution.is_single();
}

class CmaEsSampler : public Sampler {
 public:
  CmaEsSampler(const CmaEsOptions& options, std::uint64_t seed)
      : Sampler(seed), options_(options), random_(make_random_sampler(seed)) {}

  Suggestion suggest(const History& history, const Space& space, std::int64_t number) override {
    Suggestion suggestion = random_->suggest(history, space, number);
    Space searched;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < space.size(); ++i) {
      if (!is_searched(space[i])) continue;
      searched.push_back(space[i]);
      index.push_back(i);
    }
    if (searched.empty()) return suggestion;
    std::int64_t generation = 0;
    const NormalSearch search = distribution_after(history, searched, generation);
    Random random = random_for(seed(), number, searched);
    const VectorXd point = search.draw(random);
    for (std::size_t i = 0; i < searched.size(); ++i) {
      suggestion.values[index[i]] = searched[i].distribution.value_at(point[static_cast<Index>(i)]);
    }
    suggestion.notes[kCmaGeneration] = std::to_string(generation);
    return suggestion;
  }

 private:
  // The distribution after all complete generations, and the number of the next one.
  NormalSearch distribution_after(const History& history, const Space& space,
                                  std::int64_t& generation) const {
    const auto dimensions = static_cast<Index>(space.size());
    const int population =
        options_.population > 0
            ? std::max(options_.population, 4)
            : 4 + static_cast<int>(3 * std::log(static_cast<double>(dimensions)));
    NormalSearch search(dimensions, population, options_.initial_width);
    std::vector<std::vector<const Trial*>> members;
    for (const Trial& trial : history.trials()) {
      const auto note = trial.system_attributes.find(kCmaGeneration);
      if (note == trial.system_attributes.end() || trial.state != TrialState::kComplete) continue;
      const std::size_t at = std::stoul(note->second);
      if (members.size() <= at) members.resize(at + 1);
      if (has_all(trial, space)) members[at].push_back(&trial);
    }
    for (std::vector<const Trial*>& trials : members) {
      if (trials.size() < static_cast<std::size_t>(population)) break;
      // Those that finished first, as when the next generation was started.
      std::stable_sort(trials.begin(), trials.end(),
                       [](const Trial* a, const Trial* b) { return a->ended < b->ended; });
      trials.resize(static_cast<std::size_t>(population));
      search.update(sorted_points(history, space, trials));
      ++generation;
    }
    return search;
  }

  static bool has_all(const Trial& trial, const Space& space) {
    return std::all_of(space.begin(), space.end(), [&](const Parameter& parameter) {
      return trial.find(parameter.name) != nullptr;
    });
  }

  static MatrixXd sorted_points(const History& history, const Space& space,
                                std::vector<const Trial*> trials) {
    std::stable_sort(trials.begin(), trials.end(), [&](const Trial* a, const Trial* b) {
      return std::make_pair(a->violation(), history.loss(*a)) <
             std::make_pair(b->violation(), history.loss(*b));
    });
    MatrixXd points(space.size(), trials.size());
    for (std::size_t j = 0; j < trials.size(); ++j) {
      for (std::size_t i = 0; i < space.size(); ++i) {
        points(static_cast<Index>(i), static_cast<Index>(j)) =
            space[i].distribution.position_of(trials[j]->find(space[i].name)->value);
      }
    }
    return points;
  }

  CmaEsOptions options_;
  std::unique_ptr<Sampler> random_;
};

}  // namespace

std::unique_ptr<Sampler> make_cma_es_sampler(const CmaEsOptions& options, std::uint64_t seed) {
  return std::make_unique<CmaEsSampler>(options, seed);
}

}  // namespace tutti::tune
