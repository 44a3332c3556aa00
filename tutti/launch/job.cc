#include "tutti/launch/job.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "tutti/core/error.h"
#include "tutti/launch/frames.h"
#include "tutti/launch/line_output.h"
#include "tutti/launch/network.h"
#include "tutti/launch/process.h"
#include "tutti/launch/process_tree.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

// From the order to end: agents need 2 s at most; then mpirun is killed, then nobody is waited for.
constexpr double kKillSeconds = 3;
constexpr double kGiveUpSeconds = 4.5;
constexpr double kMpirunSeconds = 10;  // that it may take after its last rank

// What Open MPI says of itself without need: its child was quicker than it.
constexpr std::array kNoise = {"plm:rsh: Warning: setpgid"};

constexpr int kTimedOut = 124, kOutputGone = 141;

struct Rank {
  Rank(int number, const std::string& host, bool tagged, const LineOutput::Sink& output_sink,
       const LineOutput::Sink& errors_sink, const std::filesystem::path& log_path)
      : output(tagged ? fmt::format("[{} {}] ", number, host) : "", output_sink),
        errors(tagged ? fmt::format("[{} {}] ", number, host) : "", errors_sink),
        log(log_path, std::ios::app) {}

  File socket;
  FrameReader heard;
  LineOutput output, errors;
  LastLines last_lines;
  std::ofstream log;
  bool has_come = false, has_ended = false;
};

struct Visitor {
  File socket;
  FrameReader heard;
};

std::string random_key() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

class Job {
 public:
  Job(const JobSpec& spec, RunFolder& folder)
      : spec_(spec), folder_(folder), key_(random_key()), door_(listen_on(0)) {
    if (!door_.is_open()) throw IoError("DDL-3-32", "This host has no free port to listen on.");
    for (int rank = 0; rank < spec.rankfile.size(); ++rank) {
      ranks_.push_back(std::make_unique<Rank>(
          rank, spec.rankfile.ranks[static_cast<std::size_t>(rank)].host, spec.tag_output,
          [this](std::string_view text) { put(STDOUT_FILENO, text); },
          [this](std::string_view text) { put(STDERR_FILENO, text); },
          folder.path() / fmt::format("rank-{}.log", rank)));
    }
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
    environment["TUTTI_WATCH"] =
        fmt::format("{} {}", port_of(door_), fmt::join(spec_.addresses, " "));
    environment["TUTTI_WATCH_KEY"] = key_;
    // A terminal belongs to ddlrun's process group; mpirun, in its own, would be stopped by it.
    const auto input =
        ::isatty(STDIN_FILENO) ? ProcessSpec::Input::kNone : ProcessSpec::Input::kOurs;
    mpirun_ = std::make_unique<Process>(
        ProcessSpec{.words = spec_.command, .environment = &environment, .input = input});
    while (!is_over()) step();
    finish();
    return end_;
  }

 private:
  bool is_over() {
    const bool is_quiet = mpirun_->has_ended() && !mpirun_->output().is_open() &&
                          !mpirun_->errors().is_open() && connected() == 0;
    return is_quiet || (is_ending_ && since_ending_.seconds() > kGiveUpSeconds);
  }

  int connected() const {
    int count = 0;
    for (const auto& rank : ranks_) count += rank->socket.is_open();
    return count;
  }

  void step() {
    std::vector<pollfd> files = {{door_.get(), POLLIN, 0},
                                 {signal_file_.get(), POLLIN, 0},
                                 {mpirun_->output().get(), POLLIN, 0},
                                 {mpirun_->errors().get(), POLLIN, 0},
                                 {mpirun_->has_ended() ? -1 : mpirun_->end_file(), POLLIN, 0}};
    const std::size_t visitors_at = files.size();
    for (const auto& visitor : visitors_) files.push_back({visitor->socket.get(), POLLIN, 0});
    const std::size_t ranks_at = files.size();
    for (const auto& rank : ranks_) files.push_back({rank->socket.get(), POLLIN, 0});
    ::poll(files.data(), files.size(), wait_milliseconds());
    // Ranks first: what they say about their end explains what mpirun says and does then.
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (files[ranks_at + i].revents) hear_rank(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < ranks_at - visitors_at; ++i) {
      if (files[visitors_at + i].revents) hear_visitor(*visitors_[i]);
    }
    std::erase_if(visitors_, [](const auto& visitor) { return !visitor->socket.is_open(); });
    if (files[0].revents) admit();
    if (files[1].revents) hear_signal();
    if (files[2].revents) hear_mpirun(mpirun_->output());
    if (files[3].revents) hear_mpirun(mpirun_->errors());
    look_at_clock();
  }

  int wait_milliseconds() const {
    double wait = 3600;
    const auto is_waiting = [](const auto& one) {
      return one->output.is_waiting() || one->errors.is_waiting();
    };
    if (mpirun_output_.is_waiting() || mpirun_errors_.is_waiting() ||
        std::ranges::any_of(ranks_, is_waiting)) {
      wait = 0.1;
    }
    if (spec_.timeout > 0) wait = std::min(wait, spec_.timeout - since_start_.seconds());
    if (is_ending_ || mpirun_->has_ended() || all_have_ended_) wait = std::min(wait, 0.1);
    return static_cast<int>(std::max(wait, 0.0) * 1000) + 1;
  }

  void flush(bool everything) {
    for (const auto& rank : ranks_) {
      rank->output.flush(everything);
      rank->errors.flush(everything);
    }
    mpirun_output_.flush(everything);
    mpirun_errors_.flush(everything);
  }

  void look_at_clock() {
    flush(false);
    if (spec_.timeout > 0 && since_start_.seconds() > spec_.timeout && !is_ending_) {
      end_all({kTimedOut, fmt::format("DDL-3-44 The job was ended after {} s, as --timeout says.",
                                      spec_.timeout)});
    }
    if (mpirun_->has_ended() && connected() > 0 && !is_ending_) lose_mpirun();
    const bool is_late = all_have_ended_ && since_all_ended_.seconds() > kMpirunSeconds;
    const bool must_die = is_ending_ && since_ending_.seconds() > kKillSeconds;
    if ((is_late || must_die) && !is_killed_) {
      is_killed_ = true;
      mpirun_->signal_group(SIGKILL);
    }
  }

  // Ranks whose mpirun is gone will be ended by their agents, at our word.
  void lose_mpirun() {
    suspect({.exit_code = std::max(mpirun_->exit_code(), 1),
             .message = fmt::format("DDL-3-43 {} {} while ranks were running.",
                                    spec_.command.front(), mpirun_->how_it_ended()),
             .may_restart = true});
  }

  void admit() {
    File socket(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    keep_alive(socket);
    send_at_once(socket);
    visitors_.push_back(std::make_unique<Visitor>(Visitor{std::move(socket), {}}));
  }

  // 0: the other end is gone.
  static std::size_t receive(const File& socket, FrameReader& heard) {
    std::array<char, 65536> piece{};
    const auto bytes = ::recv(socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
    if (bytes <= 0) return 0;
    heard.add(piece.data(), static_cast<std::size_t>(bytes));
    return static_cast<std::size_t>(bytes);
  }

  void hear_visitor(Visitor& visitor) {
    const bool is_there = receive(visitor.socket, visitor.heard) > 0;
    const auto frame = visitor.heard.next();
    if (!frame && is_there && !visitor.heard.is_broken()) return;
    const Json hello = frame ? Json::parse(frame->body, nullptr, false) : Json();
    const bool is_ours =
        frame && frame->kind == kHello && hello.is_object() && hello.value("key", "") == key_;
    const int number = is_ours ? hello.value("rank", -1) : -1;
    if (number < 0 || number >= static_cast<int>(ranks_.size()) ||
        ranks_[static_cast<std::size_t>(number)]->has_come) {
      visitor.socket.close();
      return;
    }
    Rank& rank = *ranks_[static_cast<std::size_t>(number)];
    rank.socket = std::move(visitor.socket);
    rank.heard = std::move(visitor.heard);
    rank.has_come = true;
    tell(rank, kWelcome, spec_.cpus.empty() ? "" : spec_.cpus[static_cast<std::size_t>(number)]);
    if (is_ending_) tell(rank, kStop, "");
    folder_.events().write("rank_start", {{"number", std::int64_t{number}},
                                          {"on", host_of(number)},
                                          {"process", std::int64_t{hello.value("process", 0)}}});
  }

  void tell(const Rank& rank, char kind, std::string_view body) {
    const std::string text = encode(kind, body);
    ::send(rank.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const std::string& host_of(int rank) const {
    return spec_.rankfile.ranks[static_cast<std::size_t>(rank)].host;
  }

  void hear_rank(int number) {
    Rank& rank = *ranks_[static_cast<std::size_t>(number)];
    const bool is_there = receive(rank.socket, rank.heard) > 0;
    while (const auto frame = rank.heard.next()) {
      if (frame->kind == kOutput || frame->kind == kErrors) {
        rank.log << frame->body << std::flush;
        rank.last_lines.add(frame->body);
        (frame->kind == kOutput ? rank.output : rank.errors).add(frame->body);
      } else if (frame->kind == kEnd) {
        end_rank(number, Json::parse(frame->body, nullptr, false));
      }
    }
    if (is_there && !rank.heard.is_broken()) return;
    rank.socket.close();
    if (!rank.has_ended) lose_rank(number);
  }

  void end_rank(int number, const Json& how) {
    Rank& rank = *ranks_[static_cast<std::size_t>(number)];
    rank.has_ended = true;
    rank.socket.close();
    rank.output.flush(true);
    rank.errors.flush(true);
    const int code = how.is_object() ? how.value("code", 1) : 1;
    const int signal = how.is_object() ? how.value("signal", 0) : 0;
    folder_.events().write("rank_end", {{"number", std::int64_t{number}},
                                        {"code", std::int64_t{code}},
                                        {"signal", std::int64_t{signal}}});
    all_have_ended_ = std::ranges::all_of(ranks_, [](const auto& one) { return one->has_ended; });
    if (all_have_ended_) since_all_ended_.restart();
    if (code == 0 && signal == 0) return;
    if (how.is_object() && how.value("stopped", false)) {
      return suspect({.exit_code = 1,
                      .message = fmt::format("DDL-3-43 {} ended the job. Its words are in {}.",
                                             spec_.command.front(), mpirun_log()),
                      .may_restart = true});
    }
    end_all(
        {.exit_code = signal ? 128 + signal : code,
         .message = fmt::format("{} Rank {} on {} {}.{}", signal ? "DDL-3-41" : "DDL-3-40", number,
                                host_of(number), describe_end(code, signal), last_words(number)),
         .may_restart = true});
  }

  void lose_rank(int number) {
    ranks_[static_cast<std::size_t>(number)]->has_ended = true;
    folder_.events().write("rank_lost", {{"number", std::int64_t{number}}});
    end_all({.exit_code = 1,
             .message = fmt::format("DDL-3-42 Rank {} on {} was lost: its host is gone, cannot be "
                                    "reached, or somebody killed ddlrun there.{}",
                                    number, host_of(number), last_words(number)),
             .may_restart = true});
  }

  std::string last_words(int number) const {
    const std::string lines = ranks_[static_cast<std::size_t>(number)]->last_lines.text();
    const std::string place = (folder_.path() / fmt::format("rank-{}.log", number)).string();
    return lines.empty() ? fmt::format(" It printed nothing.")
                         : fmt::format(" Its last lines ({}):\n{}", place, lines);
  }

  void hear_signal() {
    signalfd_siginfo signal{};
    if (::read(signal_file_.get(), &signal, sizeof signal) != sizeof signal) return;
    const int number = static_cast<int>(signal.ssi_signo);
    if (is_ending_ && was_interrupted_) mpirun_->signal_group(SIGKILL);
    was_interrupted_ = true;
    end_all({128 + number,
             fmt::format("DDL-3-45 Interrupted ({}): the job was ended.", ::strsignal(number))});
  }

  // Its own words; once the job is ending they only say that it is.
  void hear_mpirun(File& from) {
    std::array<char, 65536> piece{};
    const auto bytes = ::read(from.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) return;
    if (bytes <= 0) {
      from.close();
      return;
    }
    const std::string_view text(piece.data(), static_cast<std::size_t>(bytes));
    folder_.append("mpirun.log", text);
    (&from == &mpirun_->output() ? mpirun_output_ : mpirun_errors_).add(text);
  }

  void pass_on_mpirun(int file, std::string_view text) {
    if (is_ending_) return;
    for (std::size_t begin = 0; begin < text.size();) {
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
  void suspect(JobEnd why) {
    if (is_ending_) return;
    end_all(std::move(why));
    is_suspicion_ = true;
  }

  // The first reason counts, unless it is only a suspicion.
  void end_all(JobEnd why) {
    if (is_ending_ && std::exchange(is_suspicion_, false)) {
      end_ = std::move(why);
    } else if (is_ending_) {
      // Ctrl-C means: no restart either.
      end_.may_restart = end_.may_restart && why.may_restart;
    }
    if (is_ending_) return;
    is_ending_ = true;
    since_ending_.restart();
    end_ = std::move(why);
    for (const auto& rank : ranks_) {
      if (rank->socket.is_open()) tell(*rank, kStop, "");
    }
    if (!mpirun_->has_ended()) mpirun_->signal_group(SIGTERM);
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

  void finish() {
    mpirun_->has_ended();
    kill_descendants(1);  // also an ssh of mpirun's that still waits for a dead host
    flush(true);
    for (std::size_t rank = 0; is_suspicion_ && rank < ranks_.size(); ++rank) {
      if (ranks_[rank]->has_come && !ranks_[rank]->has_ended) lose_rank(static_cast<int>(rank));
    }
    if (is_ending_ || mpirun_->exit_code() == 0) return;
    // Ranks did not fail, or never came: mpirun itself did.
    const bool came = std::ranges::any_of(ranks_, [](const auto& rank) { return rank->has_come; });
    end_ = {.exit_code = mpirun_->exit_code(),
            .message = fmt::format("DDL-3-43 {} {}{}. Its words are in {}.", spec_.command.front(),
                                   mpirun_->how_it_ended(),
                                   came ? "" : " before any rank had started", mpirun_log()),
            .may_restart = true};
  }

  const JobSpec& spec_;
  RunFolder& folder_;
  std::string key_;
  File door_, signal_file_;
  sigset_t old_signals_{};
  std::unique_ptr<Process> mpirun_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Visitor>> visitors_;
  LineOutput mpirun_output_{"",
                            [this](std::string_view text) { pass_on_mpirun(STDOUT_FILENO, text); }};
  LineOutput mpirun_errors_{"",
                            [this](std::string_view text) { pass_on_mpirun(STDERR_FILENO, text); }};
  Stopwatch since_start_, since_ending_, since_all_ended_;
  bool is_ending_ = false, is_killed_ = false, was_interrupted_ = false, is_output_gone_ = false;
  bool all_have_ended_ = false, is_suspicion_ = false;
  JobEnd end_;
};

}  // namespace

JobEnd run_job(const JobSpec& spec, RunFolder& folder) {
  return Job(spec, folder).run();
}

}  // namespace tutti::launch
