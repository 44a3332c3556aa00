#include "tutti/launch/job/job.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "tutti/core/clock.h"
#include "tutti/launch/job/job_ranks.h"
#include "tutti/launch/job/root_cause.h"
#include "tutti/launch/net/network.h"
#include "tutti/os/process_tree.h"

namespace tutti::launch {
namespace {

// Seconds after the request to end. Agents need at most 2 s. mpirun exits by itself after its ranks, sooner than if it
// is signalled meanwhile; otherwise it gets SIGTERM, then SIGKILL, and then ddlrun no longer waits for it.
constexpr double kOwnEndSeconds = 1;
constexpr double kAskSeconds = 2.5;
constexpr double kKillSeconds = 3.5;
constexpr double kGiveUpSeconds = 4.5;
constexpr double kMpirunSeconds = 10;  // for mpirun to exit after the last rank succeeded

constexpr double kFinalOutputSeconds = 1;  // for the other ranks, after a rank has failed

constexpr int kTimedOut = 124, kOutputGone = 141;

// Warning of Open MPI about a race with its own child.
constexpr std::string_view kNoise = "plm:rsh: Warning: setpgid";

class Job {
 public:
  Job(const JobSpec& spec, runs::JobFolder& folder, JobOutput& output, const os::SignalFd& signals)
      : spec_(spec),
        output_(output),
        signals_(signals),
        mpirun_log_(folder.log("mpirun.log")),
        ranks_(spec, folder, output,
               {.exited = [this](const RankExit& exit) { rank_has_exited(exit); },
                .ended = [this](int) { rank_has_ended(); },
                .lost = [this](int rank) { rank_was_lost(rank); }}) {
    ::signal(SIGPIPE, SIG_IGN);
    os::become_subreaper();
  }

  JobEnd run() {
    Environment environment = spec_.environment;
    environment["TUTTI_WATCH"] = ranks_.listen_addresses();
    environment[auth::Secret::kVariable] = spec_.secret.to_hex();
    // The terminal belongs to the process group of ddlrun; mpirun, in another group, would be stopped by reading from
    // it.
    using Input = os::ProcessSpec::Input;
    mpirun_ = std::make_unique<os::Process>(
        os::ProcessSpec{.arguments = spec_.command,
                        .environment = os::entries_of(environment),
                        .input = ::isatty(STDIN_FILENO) ? Input::kNone : Input::kInherit});
    while (!is_over()) step();
    finish();
    return end_;
  }

 private:
  // State at the last step.
  bool has_mpirun_ended() const { return mpirun_->is_known_to_have_ended(); }

  bool is_over() const {
    if (is_ending_ && since_ending_.seconds() > kGiveUpSeconds) return true;
    if (!has_mpirun_ended() || ranks_.connected() > 0) return false;
    // A process that still holds the pipes, such as an ssh to a dead host, does not keep a failed job running.
    return is_ending_ || (!mpirun_->output().is_open() && !mpirun_->errors().is_open());
  }

  void step() {
    const auto if_room = [&](int ours, const os::UniqueFd& file) {
      return output_.has_room(ours) ? file.get() : -1;
    };
    std::vector<pollfd> files = {{signals_.get(), POLLIN, 0},
                                 {if_room(STDOUT_FILENO, mpirun_->output()), POLLIN, 0},
                                 {if_room(STDERR_FILENO, mpirun_->errors()), POLLIN, 0},
                                 {has_mpirun_ended() ? -1 : mpirun_->end_fd(), POLLIN, 0},
                                 {output_.wake_file(), POLLIN, 0}};
    const std::size_t own_files = files.size();
    ranks_.add_files(&files);
    ::poll(files.data(), files.size(), wait_milliseconds());
    if (files[4].revents) output_.clear_wake();
    // Ranks first: their exit reports explain the messages and the exit of mpirun.
    ranks_.handle(std::span(files).subspan(own_files));
    if (files[0].revents) take_signal();
    if (files[1].revents) read_mpirun(mpirun_->output(), mpirun_output_);
    if (files[2].revents) read_mpirun(mpirun_->errors(), mpirun_errors_);
    if (files[3].revents) look_at_mpirun();
    flush(false);
    ranks_.grant_credit();
    output_.report_failures();
    look_at_clock();
  }

  // A signal sent to mpirun by another process explains ranks that are lost at the same time.
  void look_at_mpirun() {
    if (mpirun_->has_ended() && !is_ending_) was_mpirun_killed_ = mpirun_->end_signal() != 0;
  }

  int wait_milliseconds() const {
    const bool is_near_end =
        !failures_.empty() || is_ending_ || has_mpirun_ended() || all_have_ended_;
    const bool has_output =
        ranks_.has_waiting_output() || mpirun_output_.is_waiting() || mpirun_errors_.is_waiting();
    double wait = is_near_end || has_output ? 0.1 : ranks_.has_pending_handshakes() ? 1 : 3600;
    if (spec_.timeout > 0) wait = std::min(wait, spec_.timeout - since_start_.seconds());
    return static_cast<int>(std::max(wait, 0.0) * 1000) + 1;
  }

  void look_at_clock() {
    if (spec_.timeout > 0 && since_start_.seconds() > spec_.timeout) end_all(timed_out());
    if (output_.has_lost_reader()) end_all(output_closed());
    if (has_mpirun_ended() && ranks_.connected() > 0) {
      JobEnd end = mpirun_ended_early();
      suspect(std::move(end.message), end.exit_code);
    }
    if (all_have_ended_ || since_failure_.seconds() > kFinalOutputSeconds) end_for_failure();
    const bool is_late = all_have_ended_ && since_all_ended_.seconds() > kMpirunSeconds;
    if (is_ending_ || is_late) end_mpirun();
  }

  JobEnd mpirun_ended_early() const {
    return {std::max(mpirun_->exit_code(), 1),
            fmt::format("DDL-3-43 {} {} while ranks were running.", spec_.command.front(),
                        mpirun_->how_it_ended()),
            true};
  }

  void end_mpirun() {
    if (has_mpirun_ended()) return;
    if (ranks_.connected() > 0) since_last_rank_.restart();
    const double since_asked = is_asked_ ? since_asked_.seconds() : 0;
    if (since_ending_.seconds() > kKillSeconds || since_asked > kKillSeconds - kAskSeconds) {
      mpirun_->signal_group(SIGKILL);
    } else if (since_ending_.seconds() > kAskSeconds ||
               since_last_rank_.seconds() > kOwnEndSeconds) {
      if (std::exchange(is_asked_, true)) return;
      since_asked_.restart();
      mpirun_->signal_group(SIGTERM);
    }
  }

  void rank_has_exited(const RankExit& exit) {
    if (exit.code == 0 && exit.signal == 0) {
      ++succeeded_;
      if (first_done_ < 0 && !is_ending_) first_done_ = exit.rank;
    } else if (exit.was_stopped) {
      suspect(fmt::format("DDL-3-43 {} ended the job. Its output is in {}.", spec_.command.front(),
                          mpirun_log_->path()));
    } else {
      add_failure({exit.rank, exit.code, exit.signal, false, exit.when_ns});
    }
  }

  void rank_has_ended() {
    all_have_ended_ = ranks_.all_have_ended();
    if (all_have_ended_) since_all_ended_.restart();
  }

  void rank_was_lost(int rank) {
    look_at_mpirun();
    rank_has_ended();
    add_failure({.rank = rank, .is_lost = true, .when_ns = now_ns()});
  }

  // The other ranks get some time to report errors and to exit.
  void add_failure(const RankFailure& failure) {
    if (failures_.empty()) since_failure_.restart();
    failures_.push_back(failure);
  }

  JobEnd describe(const RankFailure& failure) const {
    const std::string& host = ranks_.host_of(failure.rank);
    if (failure.is_lost && was_mpirun_killed_) return mpirun_ended_early();
    if (failure.is_lost) {
      return {1,
              fmt::format("DDL-3-42 Rank {} on {} was lost: its host is down, cannot be reached, "
                          "or its agent was killed.{}",
                          failure.rank, host, ranks_.final_output(failure.rank)),
              true};
    }
    return {failure.signal ? 128 + failure.signal : failure.code,
            fmt::format("{} Rank {} on {} {}.{}", failure.signal ? "DDL-3-41" : "DDL-3-40",
                        failure.rank, host, os::describe_end(failure.code, failure.signal),
                        ranks_.final_output(failure.rank)),
            true};
  }

  void take_signal() {
    const int number = signals_.take();
    if (number == 0) return;
    // A second signal kills mpirun immediately.
    if (std::exchange(was_interrupted_, true)) mpirun_->signal_group(SIGKILL);
    end_all(interrupted_by(number));
  }

  void read_mpirun(os::UniqueFd& from, LineOutput& to) {
    std::array<char, 65536> piece{};
    const auto bytes = ::read(from.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) return;
    if (bytes <= 0) return from.close();
    const std::string_view text(piece.data(), static_cast<std::size_t>(bytes));
    output_.log(mpirun_log_, std::string(text));
    to.add(text);
  }

  // Passes on messages of mpirun. Once the job is ending, they are redundant.
  void pass_on_mpirun(int file, std::string_view text) {
    if (is_ending_) return;
    for (std::size_t at; (at = text.find(kNoise)) != text.npos;) {
      const std::size_t line = text.rfind('\n', at) + 1;  // 0 after npos
      output_.print(file, std::string(text.substr(0, line)));
      text.remove_prefix(std::min(text.find('\n', at), text.size() - 1) + 1);
    }
    output_.print(file, std::string(text));
  }

  // Ends the job for a symptom whose cause may not have been reported yet.
  void suspect(std::string message, int exit_code = 1) {
    if (is_ending_ || !failures_.empty()) return;
    end_all({exit_code, std::move(message), true});
    is_suspicion_ = true;
  }

  void end_for_failure() {
    if (failures_.empty() || is_ending_) return;
    is_failure_ = true;
    begin_to_end();
  }

  // The first reason is kept unless it was only a symptom.
  void end_all(JobEnd why) {
    end_for_failure();
    if (why.is_interrupted) is_interrupted_ = true;  // also while a failed job is ending
    if (!is_ending_ || std::exchange(is_suspicion_, false)) end_ = std::move(why);
    begin_to_end();
  }

  void begin_to_end() {
    if (std::exchange(is_ending_, true)) return;
    since_ending_.restart();
    since_last_rank_.restart();
    ranks_.stop_all();
  }

  void flush(bool everything) {
    ranks_.flush(everything);
    mpirun_output_.flush(everything);
    mpirun_errors_.flush(everything);
  }

  void finish() {
    end_for_failure();
    mpirun_->has_ended();
    os::kill_descendants(1);  // also an ssh of mpirun that still waits for a dead host
    flush(true);
    for (int rank = 0; is_suspicion_ && rank < ranks_.size(); ++rank) {
      if (ranks_.has_connected(rank) && !ranks_.has_ended(rank)) rank_was_lost(rank);
    }
    const bool has_cause = (is_failure_ || is_suspicion_) && !failures_.empty();
    if (has_cause) end_ = describe(root_cause(failures_));
    if (!is_ending_) check_mpirun();
    // A job that succeeded is never restarted.
    end_.may_restart = end_.may_restart && !is_interrupted_ && succeeded_ < ranks_.size();
    end_.is_interrupted = is_interrupted_;
    end_.lost_hosts = lost_hosts();
    if (is_ending_ && end_.may_restart) report_first_done();
  }

  std::vector<std::string> lost_hosts() const {
    std::set<std::string> hosts;
    for (const RankFailure& failure : failures_) {
      const std::string& host = ranks_.host_of(failure.rank);
      if (failure.is_lost && !is_this_host(host)) hosts.insert(host);
    }
    return {hosts.begin(), hosts.end()};
  }

  // Called if no rank failed, or if none connected.
  void check_mpirun() {
    const bool has_succeeded = succeeded_ == ranks_.size();
    if (mpirun_->exit_code() == 0 || (has_succeeded && is_asked_)) return;
    bool has_begun = false;
    for (int rank = 0; rank < ranks_.size(); ++rank) has_begun |= ranks_.has_connected(rank);
    end_ = {mpirun_->exit_code(),
            fmt::format("DDL-3-43 {} {}{}. Its output is in {}.", spec_.command.front(),
                        mpirun_->how_it_ended(), has_begun ? "" : " before any rank had started",
                        mpirun_log_->path()),
            true};
  }

  // Ranks that waited for a rank that exited successfully only report that it has left; name that rank.
  void report_first_done() {
    if (first_done_ < 0) return;
    if (!end_.message.ends_with('\n')) end_.message += '\n';
    end_.message += fmt::format("ddlrun: rank {} on {} had ended by itself, with exit code 0.\n",
                                first_done_, ranks_.host_of(first_done_));
  }

  const JobSpec& spec_;
  JobOutput& output_;
  const os::SignalFd& signals_;
  std::shared_ptr<runs::LogFile> mpirun_log_;
  JobRanks ranks_;
  std::unique_ptr<os::Process> mpirun_;
  LineOutput mpirun_output_{"",
                            [this](std::string_view text) { pass_on_mpirun(STDOUT_FILENO, text); }};
  LineOutput mpirun_errors_{"",
                            [this](std::string_view text) { pass_on_mpirun(STDERR_FILENO, text); }};
  Stopwatch since_start_, since_failure_, since_ending_, since_last_rank_, since_asked_;
  Stopwatch since_all_ended_;
  std::vector<RankFailure> failures_;
  int first_done_ = -1;  // first rank that exited with 0
  int succeeded_ = 0;    // ranks that exited with 0
  bool is_ending_ = false, is_failure_ = false, is_suspicion_ = false, is_asked_ = false;
  bool was_mpirun_killed_ = false, was_interrupted_ = false, all_have_ended_ = false,
       is_interrupted_ = false;
  JobEnd end_;
};

}  // namespace

JobEnd run_job(const JobSpec& spec, runs::JobFolder& folder, JobOutput& output,
               const os::SignalFd& signals) {
  return Job(spec, folder, output, signals).run();
}

JobEnd interrupted_by(int signal) {
  return {128 + signal,
          fmt::format("DDL-3-45 Interrupted ({}): the job was ended.", ::strsignal(signal)), false,
          true};
}

JobEnd timed_out() {
  return {kTimedOut, "DDL-3-44 The job was ended by --timeout.", false, true};
}

JobEnd output_closed() {
  return {kOutputGone,
          "DDL-3-46 The job was ended because the reader of its output closed the pipe.", false,
          true};
}

}  // namespace tutti::launch
