#include "tutti/launch/watched_program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/launch/frames.h"
#include "tutti/launch/network.h"
#include "tutti/launch/process_tree.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

constexpr double kGraceSeconds = 2;            // between asking to end and killing
constexpr double kLeftOverSeconds = 0.3;       // for output of processes that outlive the program
constexpr double kMostLeftOverSeconds = 5;     // even if they never cease
constexpr std::size_t kMostWaiting = 1 << 20;  // bytes on their way to ddlrun

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

class Watched {
 public:
  Watched(File home, const std::vector<std::string>& words, const sigset_t& old_signals)
      : home_(std::move(home)), old_signals_(old_signals) {
    ::sigemptyset(&signals_);
    for (const int signal : kWatchedSignals) ::sigaddset(&signals_, signal);
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
      become_program(words);
    }
    channels_.program_output.close();
    channels_.program_errors.close();
  }

  // The program has ended, and all that it wrote was read.
  bool is_over() const {
    if (!has_ended_) return false;
    const bool is_silent = !channels_.output.is_open() && !channels_.errors.is_open();
    // On a busy machine much can be unread when we get our turn again.
    return is_silent ||
           since_end_.seconds() > (has_read_all_ ? kLeftOverSeconds : kMostLeftOverSeconds);
  }

  void step() {
    const bool may_read = waiting_.size() < kMostWaiting || !home_.is_open();
    std::array<pollfd, 4> files = {
        {{may_read ? channels_.output.get() : -1, POLLIN, 0},
         {may_read ? channels_.errors.get() : -1, POLLIN, 0},
         {home_.get(), static_cast<short>(POLLIN | (waiting_.empty() ? 0 : POLLOUT)), 0},
         {signal_file_.get(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), has_ended_ || is_ending_ ? 50 : -1);
    has_read_all_ = may_read && !files[0].revents && !files[1].revents;
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
      has_read_all_ = false;
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

  // Closing while words of ddlrun are unread would throw away ours, and the end of a rank that
  // failed makes mpirun end the others: so it is ddlrun that closes.
  void say_goodbye() {
    if (!home_.is_open()) return;
    waiting_ += encode(kEnd, Json{{"code", code_},
                                  {"signal", signal_},
                                  {"ago", since_end_.seconds()},
                                  {"stopped", was_stopped_}}
                                 .dump());
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
  bool has_read_all_ = false;  // nothing was there when we looked last
  Stopwatch since_ending_, since_end_;
  int code_ = 0, signal_ = 0;
};

}  // namespace

void become_program(const std::vector<std::string>& words) {
  std::vector<std::string> copy = words;
  std::vector<char*> arguments;
  for (std::string& word : copy) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::dprintf(STDERR_FILENO, "ddlrun: DDL-3-27 cannot start %s: %s\n", arguments[0],
            ::strerror(errno));
  ::_exit(127);
}

int run_watched(File home, const std::vector<std::string>& words, const sigset_t& old_signals) {
  return Watched(std::move(home), words, old_signals).run();
}

}  // namespace tutti::launch
