// A study: asks a sampler for trials, records their results, and decides which to prune.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tutti/core/mutex.h"
#include "tutti/tune/prune/pruner.h"
#include "tutti/tune/search/sampler.h"
#include "tutti/tune/store/study_file.h"

namespace tutti::tune {

// A stored study. Without one, a study is kept in memory only.
struct StoredStudy {
  std::shared_ptr<StudyFile> file;
  StudyRecord record;
};

// Every change is stored before a function returns, so a caller may act on it. Thread-safe.
class Study {
 public:
  // Continues with the trials of `stored`, if it has any.
  Study(std::vector<Direction> directions, std::shared_ptr<Sampler> sampler,
        std::shared_ptr<Pruner> pruner, std::optional<StoredStudy> stored = std::nullopt);

  // Starts the oldest waiting trial, or a new one; returns its number. With a declared `space`, its active parameters
  // are drawn at once; otherwise suggest() draws them.
  std::int64_t ask(const Space& space = {});
  // The value of a parameter of a running trial. Asking again for the same parameter returns the same value. Throws
  // ConfigError: DDL-10-25 if it was asked for with another kind of distribution or other choices.
  double suggest(std::int64_t number, const std::string& name, const Distribution& distribution);
  // Records a value that the caller has drawn, which may be outside of the distribution. Throws as suggest().
  void set_parameter(std::int64_t number, const std::string& name, const Distribution& distribution,
                     double value);
  // An intermediate value of the first objective.
  void report(std::int64_t number, std::int64_t step, double value);
  bool should_prune(std::int64_t number);
  // Ends a running trial. `values` has one finite or infinite number per objective if it is complete. Throws
  // ConfigError: DDL-10-26 for a trial that is not running, DDL-10-27 for NaN or a wrong number of values.
  // The last `reports` are stored in the same transaction.
  void tell(std::int64_t number, TrialState state, const std::vector<double>& values = {},
            const std::vector<Report>& reports = {});
  void set_constraints(std::int64_t number, const std::vector<double>& constraints);
  void set_attribute(std::int64_t number, bool is_system, const std::string& key,
                     const std::string& json);

  // Adds a trial with given values of some parameters (JSON by name), which ask() starts first.
  std::int64_t enqueue(const Attributes& parameters);
  // Adds a trial as it is, for example one of another study.
  std::int64_t add(const Trial& trial);
  // Makes a running trial wait, to start again with the same parameters and without its reports.
  void requeue(std::int64_t number);

  bool is_exhausted();  // the sampler has no new trial
  std::string reason();
  Trial trial(std::int64_t number);
  std::size_t size();
  // A copy that does not change.
  History history();
  // Returns use(history). No other thread changes the history meanwhile; `use` must not call this study.
  template <class Use>
  auto inspect(const Use& use) {
    const MutexLock lock(mutex_);
    return use(std::as_const(history_));
  }
  void replace_sampler(std::shared_ptr<Sampler> sampler);
  void replace_pruner(std::shared_ptr<Pruner> pruner);

 private:
  // The values of the joint space of a running trial, until the program asks for them.
  struct JointDraw {
    Space space;
    std::vector<double> values;
  };

  Trial& running(std::int64_t number) TUTTI_REQUIRES(mutex_);
  void draw_together(Trial& trial, const Space& space) TUTTI_REQUIRES(mutex_);
  double draw(const Trial& trial, const std::string& name, const Distribution& distribution)
      TUTTI_REQUIRES(mutex_);
  void check_known(const Trial& trial, const std::string& name, const Distribution& distribution)
      TUTTI_REQUIRES(mutex_);
  void store(const std::vector<TrialChange>& changes) TUTTI_REQUIRES(mutex_);

  Mutex mutex_;
  History history_ TUTTI_GUARDED_BY(mutex_);
  std::shared_ptr<Sampler> sampler_ TUTTI_GUARDED_BY(mutex_);
  std::shared_ptr<Pruner> pruner_ TUTTI_GUARDED_BY(mutex_);
  std::optional<StoredStudy> stored_ TUTTI_GUARDED_BY(mutex_);
  std::map<std::int64_t, JointDraw> joint_draws_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::tune
