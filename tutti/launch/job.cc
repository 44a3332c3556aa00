#include "tutti/launch/job.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "tutti/core/clock.h"
#include "tutti/launch/job_ranks.h"
#include "tutti/launch/process_tree.h"

namespace tutti::launch {
namespace {

// From the order to end: agents need 2 s at most. mpirun ends by itself after its ranks, sooner
// than if it is asked to meanwhile; else it is asked, then killed, then nobody is waited for.
constexpr double kOwnEndSeconds = 1;
constexpr double kAskSeconds = 2.5;
constexpr double kKillSeconds = 3.5;
constexpr double kGiveUpSeconds = 4.5;
constexpr double kMpirunSeconds = 10;  // that it may take after a last rank that ended well

constexpr double kLastWordsSeconds = 1;  // for the others, after a rank that failed

constexpr int kTimedOut = 124, kOutputGone = 141;

// What Open MPI says of itself without need: its child was quicker than it.
constexpr std::array kNoise = {"plm:rsh: Warning: setpgid"};

class Job {
 public:
  Job(const JobSpec& spec, RunFolder& folder)
      : spec_(spec),
        folder_(folder),
        ranks_(spec, folder,
               {.put = [this](int file, std::string_view text) { put(file, text); },
                .ended = [this](const RankEnd& end) { rank_has_ended(end); },
                .lost = [this](int rank) { rank_was_lost(rank); }}) {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, &old_signals_);
    signal_file_ = File(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    ::signal(SIGPIPE, SIG_IGN);
    adopt_orphans();
  }

  ~Job() { ::sigprocmask(SIG_SETMASK, &old_signals_, nullptr); }

  JobEnd run() {
    Environment environment = spec_.environment;
    environment["TUTTI_WATCH"] = ranks_.place();
    environment["TUTTI_WATCH_KEY"] = ranks_.key();
    // A terminal belongs to ddlrun's process group; mpirun, in its own, would be stopped by it.
    using Input = ProcessSpec::Input;
    mpirun_ = std::make_unique<Process>(
        ProcessSpec{.words = spec_.command,
                    .environment = &environment,
                    .input = ::isatty(STDIN_FILENO) ? Input::kNone : Input::kOurs});
    while (!is_over()) step();
    finish();
    return end_;
  }

 private:
  bool is_over() {
    if (is_ending_ && since_ending_.seconds() > kGiveUpSeconds) return true;
    if (!mpirun_->has_ended() || ranks_.connected() > 0) return false;
    // Whoever still holds its pipes, an ssh to a dead host, has nothing to say about a failed job.
    return is_ending_ || (!mpirun_->output().is_open() && !mpirun_->errors().is_open());
  }

  void step() {
    std::vector<pollfd> files = {{signal_file_.get(), POLLIN, 0},
                                 {mpirun_->output().get(), POLLIN, 0},
                                 {mpirun_->errors().get(), POLLIN, 0},
                                 {mpirun_->has_ended() ? -1 : mpirun_->end_file(), POLLIN, 0}};
    ranks_.add_files(&files);
    ::poll(files.data(), files.size(), wait_milliseconds());
    // Ranks first: what they say about their end explains what mpirun says and does then.
    ranks_.hear();
    if (files[0].revents) hear_signal();
    if (files[1].revents) hear_mpirun(mpirun_->output(), mpirun_output_);
    if (files[2].revents) hear_mpirun(mpirun_->errors(), mpirun_errors_);
    flush(false);
    look_at_clock();
  }

  int wait_milliseconds() const {
    const bool is_near_end =
        failure_ || is_ending_ || mpirun_->is_known_to_have_ended() || all_have_ended_;
    const bool has_output =
        ranks_.has_waiting_output() || mpirun_output_.is_waiting() || mpirun_errors_.is_waiting();
    double wait = is_near_end || has_output ? 0.1 : 3600;
    if (spec_.timeout > 0) wait = std::min(wait, spec_.timeout - since_start_.seconds());
    return static_cast<int>(std::max(wait, 0.0) * 1000) + 1;
  }

  void look_at_clock() {
    if (spec_.timeout > 0 && since_start_.seconds() > spec_.timeout) {
      end_all({kTimedOut, "DDL-3-44 The job was ended, as --timeout says."});
    }
    if (mpirun_->has_ended() && ranks_.connected() > 0) {
      suspect(fmt::format("DDL-3-43 {} {} while ranks were running.", spec_.command.front(),
                          mpirun_->how_it_ended()),
              std::max(mpirun_->exit_code(), 1));
    }
    if (all_have_ended_ || since_failure_.seconds() > kLastWordsSeconds) end_for_failure();
    const bool is_late = all_have_ended_ && since_all_ended_.seconds() > kMpirunSeconds;
    if (is_ending_ || is_late) end_mpirun();
  }

  void end_mpirun() {
    if (mpirun_->has_ended()) return;
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

  void rank_has_ended(const RankEnd& end) {
    all_have_ended_ = ranks_.all_have_ended();
    if (all_have_ended_) since_all_ended_.restart();
    if (end.code == 0 && end.signal == 0) {
      if (first_done_ < 0 && !is_ending_) first_done_ = end.rank;
      return;
    }
    if (end.was_stopped) {
      return suspect(fmt::format("DDL-3-43 {} ended the job. Its words are in {}.",
                                 spec_.command.front(), mpirun_log()));
    }
    blame({.exit_code = end.signal ? 128 + end.signal : end.code,
           .message = fmt::format("{} Rank {} on {} {}.{}", end.signal ? "DDL-3-41" : "DDL-3-40",
                                  end.rank, ranks_.host_of(end.rank),
                                  describe_end(end.code, end.signal), ranks_.last_words(end.rank)),
           .may_restart = true},
          end.ago);
  }

  void rank_was_lost(int rank) {
    blame({.exit_code = 1,
           .message = fmt::format("DDL-3-42 Rank {} on {} was lost: its host is gone, cannot be "
                                  "reached, or somebody killed ddlrun there.{}",
                                  rank, ranks_.host_of(rank), ranks_.last_words(rank)),
           .may_restart = true});
  }

  // A rank has failed. The others get a moment to say what they know and to end by themselves; of
  // all that fail meanwhile the one that was first is the reason, whoever tells first.
  void blame(JobEnd why, double ago = 0) {
    if (is_ending_) return end_all(std::move(why));
    const double when = since_start_.seconds() - ago;
    if (!failure_) since_failure_.restart();
    if (!failure_ || when < failed_at_) failure_ = std::move(why), failed_at_ = when;
  }

  void hear_signal() {
    signalfd_siginfo signal{};
    if (::read(signal_file_.get(), &signal, sizeof signal) != sizeof signal) return;
    const int number = static_cast<int>(signal.ssi_signo);
    // The second one is impatient.
    if (std::exchange(was_interrupted_, true)) mpirun_->signal_group(SIGKILL);
    end_all({128 + number,
             fmt::format("DDL-3-45 Interrupted ({}): the job was ended.", ::strsignal(number))});
  }

  void hear_mpirun(File& from, LineOutput& to) {
    std::array<char, 65536> piece{};
    const auto bytes = ::read(from.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) return;
    if (bytes <= 0) return from.close();
    const std::string_view text(piece.data(), static_cast<std::size_t>(bytes));
    folder_.append("mpirun.log", text);
    to.add(text);
  }

  // Its own words; once the job is ending they only say that it is.
  void pass_on_mpirun(int file, std::string_view text) {
    for (std::size_t begin = 0; begin < text.size() && !is_ending_;) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      const std::string_view line = text.substr(begin, end - begin);
      const bool is_noise = std::ranges::any_of(
          kNoise, [&](const char* words) { return line.find(words) != line.npos; });
      if (!is_noise) put(file, line);
      begin = end;
    }
  }

  std::string mpirun_log() const { return (folder_.path() / "mpirun.log").string(); }

  // Something ends the job that may itself have a cause of which we have not heard yet.
  void suspect(std::string message, int exit_code = 1) {
    if (is_ending_ || failure_) return;
    end_all({exit_code, std::move(message), true});
    is_suspicion_ = true;
  }

  void end_for_failure() {
    if (auto why = std::exchange(failure_, std::nullopt)) end_all(std::move(*why));
  }

  // The first reason counts, unless it is only a suspicion.
  void end_all(JobEnd why) {
    end_for_failure();
    if (!is_ending_ || std::exchange(is_suspicion_, false)) {
      end_ = std::move(why);
    } else if (!why.may_restart) {
      end_.may_restart = false;  // Ctrl-C while a failed job ends
    }
    if (std::exchange(is_ending_, true)) return;
    since_ending_.restart();
    since_last_rank_.restart();
    ranks_.stop_all();
  }

  void put(int file, std::string_view text) {
    while (!text.empty() && !is_output_gone_) {
      const auto written = ::write(file, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        is_output_gone_ = true;
        end_all({kOutputGone, "DDL-3-46 Nobody reads our output any more: the job was ended."});
        return;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void flush(bool everything) {
    ranks_.flush(everything);
    mpirun_output_.flush(everything);
    mpirun_errors_.flush(everything);
  }

  void finish() {
    end_for_failure();
    mpirun_->has_ended();
    kill_descendants(1);  // also an ssh of mpirun's that still waits for a dead host
    flush(true);
    for (int rank = 0; is_suspicion_ && rank < ranks_.size(); ++rank) {
      if (ranks_.has_come(rank) && !ranks_.has_ended(rank)) rank_was_lost(rank);
    }
    if (is_ending_ && end_.may_restart) tell_of_first_done();
    if (is_ending_ || mpirun_->exit_code() == 0) return;
    // Ranks did not fail, or never came: mpirun itself did.
    bool has_begun = false;
    for (int rank = 0; rank < ranks_.size(); ++rank) has_begun |= ranks_.has_come(rank);
    end_ = {mpirun_->exit_code(),
            fmt::format("DDL-3-43 {} {}{}. Its words are in {}.", spec_.command.front(),
                        mpirun_->how_it_ended(), has_begun ? "" : " before any rank had started",
                        mpirun_log()),
            true};
  }

  // Whoever waited for a rank that had left without failing says only that it is gone.
  void tell_of_first_done() {
    if (first_done_ < 0) return;
    if (!end_.message.ends_with('\n')) end_.message += '\n';
    end_.message += fmt::format("ddlrun: rank {} on {} had ended by itself, with exit code 0.\n",
                                first_done_, ranks_.host_of(first_done_));
  }

  const JobSpec& spec_;
  RunFolder& folder_;
  JobRanks ranks_;
  File signal_file_;
  sigset_t old_signals_{};
  std::unique_ptr<Process> mpirun_;
  LineOutput mpirun_output_{"",
                            [this](std::string_view text) { pass_on_mpirun(STDOUT_FILENO, text); }};
  LineOutput mpirun_errors_{"",
                            [this](std::string_view text) { pass_on_mpirun(STDERR_FILENO, text); }};
  Stopwatch since_start_, since_failure_, since_ending_, since_last_rank_, since_asked_;
  Stopwatch since_all_ended_;
  std::optional<JobEnd> failure_;  // the reason to end all, soon
  double failed_at_ = 0;
  int first_done_ = -1;  // the rank that ended well before all others
  bool is_ending_ = false, is_suspicion_ = false, is_asked_ = false;
  bool was_interrupted_ = false, is_output_gone_ = false, all_have_ended_ = false;
  JobEnd end_;
};

}  // namespace

JobEnd run_job(const JobSpec& spec, RunFolder& folder) {
  return Job(spec, folder).run();
}

}  // namespace tutti::launch
