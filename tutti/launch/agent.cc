#include "tutti/launch/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/launch/frames.h"
#include "tutti/launch/network.h"
#include "tutti/launch/process_tree.h"
#include "tutti/launch/rank_identity.h"
#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

constexpr double kGraceSeconds = 2;       // between asking to end and killing
constexpr double kLeftOverSeconds = 0.3;  // for output of processes that outlive the program
constexpr double kConnectSeconds = 5;
constexpr std::array kSignals = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::size_t kMostWaiting = 1 << 20;  // bytes on their way to ddlrun

[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<std::string> copy = words;
  std::vector<char*> arguments;
  for (std::string& word : copy) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::dprintf(STDERR_FILENO, "ddlrun: DDL-3-27 cannot start %s: %s\n", arguments[0],
            ::strerror(errno));
  ::_exit(127);
}

// TUTTI_WATCH is "<port> <address> ...": the addresses of ddlrun's host, the likeliest first.
File call_home(const char* watch) {
  std::istringstream words(watch);
  int port = 0;
  words >> port;
  for (std::string address; words >> address;) {
    File socket = connect_to(address, port, kConnectSeconds, nullptr);
    if (socket.is_open()) return socket;
  }
  return File();
}

void pin(const std::string& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : topo::parse_list(cpus)) CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    log::warning("DDL-3-49 cannot pin this rank to {}: {}.", cpus, std::strerror(errno));
  }
}

// Standard output is a terminal, so that programs write whole lines at once; a raw one, so that
// nothing is changed on the way.
struct Channels {
  Channels() {
    termios raw{};
    ::cfmakeraw(&raw);
    int master = -1, slave = -1;
    if (::openpty(&master, &slave, nullptr, &raw, nullptr) == 0) {
      output = File(master);
      program_output = File(slave);
    } else {
      make_pipe(&output, &program_output);
    }
    make_pipe(&errors, &program_errors);
    for (const File* file : {&output, &errors}) ::fcntl(file->get(), F_SETFD, FD_CLOEXEC);
  }
  static void make_pipe(File* reading, File* writing) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe(ends.data()) != 0) throw IoError("DDL-3-17", "Cannot make a pipe.");
    *reading = File(ends[0]);
    *writing = File(ends[1]);
  }
  File output, errors, program_output, program_errors;
};

class Agent {
 public:
  Agent(File home, const std::vector<std::string>& words, const sigset_t& old_signals)
      : home_(std::move(home)), old_signals_(old_signals) {
    ::sigemptyset(&signals_);
    for (const int signal : kSignals) ::sigaddset(&signals_, signal);
    ::sigprocmask(SIG_BLOCK, &signals_, nullptr);
    signal_file_ = File(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
    adopt_orphans();
    start(words);
    ::signal(SIGPIPE, SIG_IGN);
    ::fcntl(home_.get(), F_SETFL, ::fcntl(home_.get(), F_GETFL) | O_NONBLOCK);
  }

  int run() {
    while (!is_over()) step();
    kill_descendants(1);
    say_goodbye();
    return signal_ ? 128 + signal_ : code_;
  }

 private:
  void start(const std::vector<std::string>& words) {
    const pid_t parent = ::getpid();
    program_ = ::fork();
    if (program_ < 0) throw IoError("DDL-3-17", "Cannot start another process.");
    if (program_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::dup2(channels_.program_output.get(), STDOUT_FILENO);
      ::dup2(channels_.program_errors.get(), STDERR_FILENO);
      for (File* file : {&channels_.program_output, &channels_.program_errors}) file->close();
      ::sigprocmask(SIG_SETMASK, &old_signals_, nullptr);
      become(words);
    }
    channels_.program_output.close();
    channels_.program_errors.close();
  }

  // The program has ended, and all that it wrote was read.
  bool is_over() const {
    if (!has_ended_) return false;
    const bool is_silent = !channels_.output.is_open() && !channels_.errors.is_open();
    return is_silent || since_end_.seconds() > kLeftOverSeconds;
  }

  void step() {
    const bool may_read = waiting_.size() < kMostWaiting || !home_.is_open();
    std::array<pollfd, 4> files = {
        {{may_read ? channels_.output.get() : -1, POLLIN, 0},
         {may_read ? channels_.errors.get() : -1, POLLIN, 0},
         {home_.get(), static_cast<short>(POLLIN | (waiting_.empty() ? 0 : POLLOUT)), 0},
         {signal_file_.get(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), has_ended_ || is_ending_ ? 50 : -1);
    if (files[0].revents) pass_on(channels_.output, kOutput);
    if (files[1].revents) pass_on(channels_.errors, kErrors);
    if (files[2].revents) talk();
    if (files[3].revents) hear_signals();
    if (is_ending_ && !has_ended_ && since_ending_.seconds() > kGraceSeconds) {
      signal_descendants(SIGKILL);
    }
  }

  void pass_on(File& from, char kind) {
    std::array<char, 65536> piece{};
    const auto bytes = ::read(from.get(), piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) return;
    if (bytes <= 0) {
      from.close();
    } else if (home_.is_open()) {
      waiting_ += encode(kind, {piece.data(), static_cast<std::size_t>(bytes)});
    }
  }

  void talk() {
    const auto sent = ::send(home_.get(), waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
    if (sent > 0) waiting_.erase(0, static_cast<std::size_t>(sent));
    std::array<char, 256> piece{};
    const auto bytes = ::recv(home_.get(), piece.data(), piece.size(), 0);
    const bool is_quiet = bytes < 0 && (errno == EAGAIN || errno == EINTR);
    if (bytes > 0) {
      heard_.add(piece.data(), static_cast<std::size_t>(bytes));
      while (const auto frame = heard_.next()) {
        if (frame->kind == kStop) end_program();
      }
    } else if (!is_quiet) {
      home_.close();
      end_program();
    }
  }

  void hear_signals() {
    signalfd_siginfo signal{};
    while (::read(signal_file_.get(), &signal, sizeof signal) == sizeof signal) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGUSR1 || number == SIGUSR2) {
        ::kill(program_, number);
      } else if (number != SIGCHLD) {
        end_program();
      }
    }
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != program_) continue;
      has_ended_ = true;
      was_stopped_ = is_ending_;
      since_end_.restart();
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
  }

  void end_program() {
    if (is_ending_) return;
    is_ending_ = true;
    since_ending_.restart();
    signal_descendants(SIGTERM);
    signal_descendants(SIGCONT);
  }

  // Closing while words of ddlrun are unread would throw away ours; so its end is awaited.
  void say_goodbye() {
    if (!home_.is_open()) return;
    waiting_ +=
        encode(kEnd, Json{{"code", code_}, {"signal", signal_}, {"stopped", was_stopped_}}.dump());
    ::fcntl(home_.get(), F_SETFL, ::fcntl(home_.get(), F_GETFL) & ~O_NONBLOCK);
    const timeval limit{2, 0};
    ::setsockopt(home_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(home_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    send_all(home_.get(), waiting_.data(), waiting_.size());
    ::shutdown(home_.get(), SHUT_WR);
    std::array<char, 256> piece{};
    while (::recv(home_.get(), piece.data(), piece.size(), 0) > 0) {
    }
  }

  File home_, signal_file_;
  Channels channels_;
  sigset_t signals_{}, old_signals_{};
  pid_t program_ = -1;
  std::string waiting_;
  FrameReader heard_;
  bool is_ending_ = false, has_ended_ = false, was_stopped_ = false;
  Stopwatch since_ending_, since_end_;
  int code_ = 0, signal_ = 0;
};

// Some MPIs kill what they have started without a warning, and with it whoever could still end what
// that has started. So the agent works in a child with a session of its own, and this process only
// stands for it: passes signals on and ends with its code. When it is killed, the agent is told.
int stand_for(pid_t agent, const sigset_t& signals) {
  for (;;) {
    int signal = 0, status = 0;
    ::sigwait(&signals, &signal);
    if (signal != SIGCHLD) ::kill(agent, signal);
    if (::waitpid(agent, &status, WNOHANG) == agent) {
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

int watch_over(File home, const std::vector<std::string>& words) {
  sigset_t signals, old_signals;
  ::sigemptyset(&signals);
  for (const int signal : kSignals) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &old_signals);
  const pid_t parent = ::getpid();
  const pid_t agent = ::fork();
  if (agent > 0) {
    home.close();
    return stand_for(agent, signals);
  }
  if (agent == 0) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);
  }
  return Agent(std::move(home), words, old_signals).run();
}

// Says who we are; the answer tells where to run. False: this is not our ddlrun.
bool introduce(const File& home, const char* key, int rank) {
  const std::string hello =
      encode(kHello, Json{{"key", key ? key : ""}, {"rank", rank}, {"process", ::getpid()}}.dump());
  if (!send_all(home.get(), hello.data(), hello.size())) return false;
  FrameReader heard;
  std::array<char, 4096> piece{};
  for (const Stopwatch watch; watch.seconds() < kConnectSeconds;) {
    pollfd file{home.get(), POLLIN, 0};
    ::poll(&file, 1, 1000);
    const auto bytes = file.revents ? ::recv(home.get(), piece.data(), 1, 0) : -1;
    if (file.revents && bytes <= 0) return false;
    if (bytes > 0) heard.add(piece.data(), static_cast<std::size_t>(bytes));
    if (const auto frame = heard.next()) {
      if (frame->kind == kWelcome) pin(frame->body);
      return frame->kind == kWelcome;
    }
  }
  return false;
}

}  // namespace

int run_agent(const std::vector<std::string>& words) {
  if (words.empty()) throw ConfigError("DDL-3-01", "--agent needs a program to run.");
  const auto identity =
      find_rank([](const char* name) -> const char* { return std::getenv(name); });
  if (identity) {
    for (const auto& [name, value] : torch_variables(*identity)) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  const char* const watch = std::getenv("TUTTI_WATCH");
  if (!watch || !identity) become(words);
  const std::string place = watch;
  const char* const key = std::getenv("TUTTI_WATCH_KEY");
  File home = call_home(place.c_str());
  if (home.is_open()) {
    keep_alive(home);
    send_at_once(home);
  }
  const bool is_known = home.is_open() && introduce(home, key, identity->rank);
  ::unsetenv("TUTTI_WATCH");
  ::unsetenv("TUTTI_WATCH_KEY");
  if (!is_known) {
    log::warning("DDL-3-48 rank {} on {} cannot reach ddlrun at {}; it runs unwatched.",
                 identity->rank, host_name(), place);
    become(words);
  }
  return watch_over(std::move(home), words);
}

}  // namespace tutti::launch
