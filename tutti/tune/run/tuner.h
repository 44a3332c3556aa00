// Runs the trials of a study as processes, several at once.
//
// The states of a trial: ask() makes it running; its process reports metrics through files; when the process has ended,
// the trial is complete, pruned or failed. A failed one waits again until its retries are used up. All states are in
// the study file before the tuner acts on them, so after a crash of the tuner the running trials are known. Their
// processes end with the tuner (parent death signal); recover() makes them wait again.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "tutti/core/options.h"
#include "tutti/tune/run/study_spec.h"
#include "tutti/tune/run/trial_process.h"
#include "tutti/tune/store/study.h"

namespace tutti::tune {

// Callbacks for progress reports. Called in the thread of Tuner::run().
struct TunerEvents {
  std::function<void(const Trial&)> started;
  // `reason` explains a failure; empty otherwise. The state is waiting if the trial is to be started again.
  std::function<void(const Trial&, const std::string& reason)> ended;
  std::function<void()> tick;  // several times per second
};

// Not thread-safe.
class Tuner {
 public:
  // `study` must outlive this object. `folder` gets the directories of the trials.
  Tuner(const StudySpec& spec, Study& study, std::filesystem::path folder, TunerEvents events);

  // Makes the trials that were running in an earlier process wait again; returns their number.
  int recover();

  // Runs trials until enough have finished, the grid is exhausted, or the time is over. Returns false if it was
  // stopped: `stop_fd` became readable; the running trials then wait for the next start. Throws ConfigError (DDL-10-35)
  // if the first three trials fail, because the others would fail as well.
  bool run(int stop_fd);

  const std::list<TrialProcess>& running() const { return running_; }

 private:
  enum class End { kItself, kPruned, kTimeLimit };
  struct Result {
    TrialState state;
    std::vector<double> values;
    std::string reason;
  };

  bool may_start() const;
  void start();
  void wait(int stop_fd);
  bool check(TrialProcess& trial);  // returns true if it has ended
  void report(TrialProcess& trial);
  void finish(TrialProcess& trial, End end);
  Result result_of(TrialProcess& trial, End end);
  void stop_all();
  Placement placement(std::size_t slot) const;
  std::size_t free_slot() const;
  void check_first_trials(const std::string& reason, const std::filesystem::path& folder);

  StudySpec spec_;
  Options options_;
  Study& study_;
  std::filesystem::path folder_;
  TunerEvents events_;
  std::list<TrialProcess> running_;
  std::map<std::int64_t, std::size_t> slots_;  // of running trials
  Stopwatch watch_;
  bool is_stopped_ = false;
  std::string systematic_failure_;  // the first trials failed, so the others would; the message
};

}  // namespace tutti::tune
