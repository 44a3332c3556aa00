#include "tutti/launch/agent/supervisor.h"

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
#include <optional>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/launch/agent/output_relay.h"
#include "tutti/os/cpus.h"
#include "tutti/os/process_tree.h"

namespace tutti::launch {
namespace {

constexpr double kGraceSeconds = 2;         // between SIGTERM and SIGKILL
constexpr double kLeftOverSeconds = 0.3;    // for silent processes that outlive the program
constexpr double kMostLeftOverSeconds = 5;  // for processes that still print

// Standard output is a pseudo-terminal in raw mode if that of ddlrun is a terminal, so no byte is changed.
struct Channels {
  explicit Channels(const Welcome& welcome) {
    if (!welcome.is_terminal || !open_terminal(welcome)) make_pipe(&output, &program_output);
    make_pipe(&errors, &program_errors);
    for (const os::UniqueFd* file : {&output, &errors}) ::fcntl(file->get(), F_SETFD, FD_CLOEXEC);
  }
  bool open_terminal(const Welcome& welcome) {
    termios raw{};
    ::cfmakeraw(&raw);
    const winsize size{static_cast<unsigned short>(welcome.rows),
                       static_cast<unsigned short>(welcome.columns), 0, 0};
    int master = -1, slave = -1;
    if (::openpty(&master, &slave, nullptr, &raw, &size) != 0) return false;
    output = os::UniqueFd(master);
    program_output = os::UniqueFd(slave);
    return true;
  }
  static void make_pipe(os::UniqueFd* reading, os::UniqueFd* writing) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe(ends.data()) != 0) throw IoError("DDL-3-17", "Cannot create a pipe.");
    *reading = os::UniqueFd(ends[0]);
    *writing = os::UniqueFd(ends[1]);
    ::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kPipeBytes));  // best effort
  }
  os::UniqueFd output, errors, program_output, program_errors;
};

// Supervises one program. Its poll loop waits for output of the program, for frames of ddlrun and for signals.
//
// - running: output is relayed, SIGUSR1 and SIGUSR2 are forwarded to the program. It ends with the program, or with a
//   request to end: Stop, loss of the connection, SIGTERM, SIGINT or SIGHUP.
// - ending: SIGTERM was sent to all descendants, and SIGCONT, so stopped ones handle it. SIGKILL follows after
//   kGraceSeconds.
// - ended: the exit of the program has been sent. Descendants that hold its output open get kLeftOverSeconds after
//   their last output, at most kMostLeftOverSeconds; then all descendants are killed.
// - done: Done has been sent. The process exits when ddlrun closes the connection.
class Watched {
 public:
  Watched(os::UniqueFd connection, const Welcome& welcome,
          const std::vector<std::string>& arguments, const sigset_t& old_signals)
      : old_signals_(old_signals) {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : kWatchedSignals) ::sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    signal_file_ = os::UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    os::become_subreaper();
    Channels channels(welcome);
    start(channels, arguments);
    // The program has the cores that MPI or ddlrun chose; relaying must not take time from it.
    os::set_affinity(os::any_cpu());
    ::signal(SIGPIPE, SIG_IGN);
    ::fcntl(connection.get(), F_SETFL, ::fcntl(connection.get(), F_GETFL) | O_NONBLOCK);
    relay_.emplace(std::move(connection), std::move(channels.output), std::move(channels.errors),
                   welcome.window);
  }

  int run() {
    while (!is_over()) step();
    os::kill_descendants(1);
    // ddlrun closes the connection when this process may exit. mpirun reacts to the exit of a failed rank's agent by
    // ending the other ranks.
    relay_->close_sources();
    relay_->send_frame(encode(kDone));
    while (relay_->is_connected() && !must_leave_) step();
    return exit_.signal ? 128 + exit_.signal : exit_.code;
  }

 private:
  void start(Channels& channels, const std::vector<std::string>& arguments) {
    const pid_t parent = ::getpid();
    program_ = ::fork();
    if (program_ < 0) throw IoError("DDL-3-17", "Cannot start another process.");
    if (program_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::dup2(channels.program_output.get(), STDOUT_FILENO);
      ::dup2(channels.program_errors.get(), STDERR_FILENO);
      for (os::UniqueFd* file : {&channels.program_output, &channels.program_errors}) file->close();
      ::sigprocmask(SIG_SETMASK, &old_signals_, nullptr);
      exec_program(arguments);
    }
    channels.program_output.close();
    channels.program_errors.close();
  }

  // True when the program has ended and all its output was read. Descendants that still print get some more time; time
  // without credit from ddlrun does not count.
  bool is_over() {
    if (!has_ended_) return false;
    if (relay_->is_at_end()) return true;
    if (relay_->is_stalled() && !is_ending_) since_flow_.restart();
    return since_flow_.seconds() > (has_read_all_ ? kLeftOverSeconds : kMostLeftOverSeconds);
  }

  void step() {
    std::array<pollfd, 4> files = {{{relay_->output_file(), POLLIN, 0},
                                    {relay_->errors_file(), POLLIN, 0},
                                    {relay_->connection(), relay_->connection_events(), 0},
                                    {signal_file_.get(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), has_ended_ || is_ending_ ? 50 : -1);
    has_read_all_ = !files[0].revents && !files[1].revents;
    if (files[0].revents) relay_->read_output();
    if (files[1].revents) relay_->read_errors();
    if (files[2].revents & ~POLLOUT) read_connection();
    if (files[3].revents) take_signals();
    relay_->send_pending();
    if (!relay_->is_connected()) end_program();
    if (is_ending_ && !has_ended_ && since_ending_.seconds() > kGraceSeconds) {
      os::signal_descendants(SIGKILL);
    }
  }

  void read_connection() {
    std::array<char, 256> piece{};
    const auto bytes = ::recv(relay_->connection(), piece.data(), piece.size(), 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const bool is_valid =
        bytes > 0 && reader_.read({piece.data(), static_cast<std::size_t>(bytes)},
                                  [&](char kind, auto body) { return take_frame(kind, body); });
    if (!is_valid) relay_->disconnect();
  }

  bool take_frame(char kind, std::string_view body) {
    const auto credit = kind == kCredit ? decode_credit(body) : std::nullopt;
    if (credit) relay_->add_credit(*credit);
    if (kind == kStop) end_program();
    return credit || kind == kStop;
  }

  void take_signals() {
    signalfd_siginfo signal{};
    while (::read(signal_file_.get(), &signal, sizeof signal) == sizeof signal) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGUSR1 || number == SIGUSR2) {
        if (!has_ended_) ::kill(program_, number);
      } else if (number != SIGCHLD) {
        must_leave_ = has_ended_;
        end_program();
      }
    }
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == program_) program_has_ended(status);
    }
  }

  void program_has_ended(int status) {
    has_ended_ = true;
    has_read_all_ = false;
    since_flow_.restart();
    exit_ = {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
             .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
             .clock_ns = now_ns(),
             .was_stopped = is_ending_};
    relay_->send_frame(encode(exit_));
  }

  void end_program() {
    if (is_ending_) return;
    is_ending_ = true;
    since_ending_.restart();
    os::signal_descendants(SIGTERM);
    os::signal_descendants(SIGCONT);
  }

  os::UniqueFd signal_file_;
  std::optional<OutputRelay> relay_;
  sigset_t old_signals_{};
  pid_t program_ = -1;
  FrameReader reader_;
  bool is_ending_ = false, has_ended_ = false;
  bool must_leave_ = false;    // a signal arrived after the end of the program
  bool has_read_all_ = false;  // nothing was readable at the last poll
  Stopwatch since_ending_;
  Stopwatch since_flow_;  // since the end of the program, or the last moment without credit
  Exit exit_;
};

}  // namespace

void exec_program(const std::vector<std::string>& arguments) {
  os::exec_program(arguments);
  ::dprintf(STDERR_FILENO, "ddlrun: DDL-3-27 cannot start %s: %s\n", arguments[0].c_str(),
            ::strerror(errno));
  ::_exit(127);
}

int supervise(os::UniqueFd connection, const Welcome& welcome,
              const std::vector<std::string>& arguments, const sigset_t& old_signals) {
  return Watched(std::move(connection), welcome, arguments, old_signals).run();
}

}  // namespace tutti::launch
