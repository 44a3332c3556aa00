#include "tutti/launch/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"

namespace tutti::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged(const Environment* added) {
  Environment all = own_environment();
  if (added) {
    for (const auto& [name, value] : *added) all[name] = value;
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw IoError("DDL-3-17", fmt::format("Cannot make a pipe: {}.", std::strerror(errno)));
    }
    reading = File(ends[0]);
    writing = File(ends[1]);
  }
  File reading, writing;
};

// The limit before raise_file_limit(); 0: it was not raised.
rlimit old_file_limit{};

// Between fork and exec only calls that are safe after a fork of a process with threads.
[[noreturn]] void become(const ProcessSpec& spec, char** arguments, char** environment, int input,
                         int output, int errors) {
  if (spec.is_group) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (old_file_limit.rlim_cur > 0) ::setrlimit(RLIMIT_NOFILE, &old_file_limit);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  if (spec.folder.empty() || ::chdir(spec.folder.c_str()) == 0) {
    ::execvpe(arguments[0], arguments, environment);
  }
  ::dprintf(STDERR_FILENO, "cannot start %s: %s\n", arguments[0], ::strerror(errno));
  ::_exit(127);
}

}  // namespace

void File::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

void raise_file_limit() {
  rlimit limit{};
  if (old_file_limit.rlim_cur > 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  old_file_limit = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Process::Process(const ProcessSpec& spec) {
  std::vector<std::string> words = spec.words, entries = merged(spec.environment);
  const std::vector<char*> arguments = pointers(words), environment = pointers(entries);
  Pipe input, output, errors;
  File nothing(spec.input == ProcessSpec::Input::kNone ? ::open("/dev/null", O_RDONLY | O_CLOEXEC)
                                                       : -1);
  const int from = spec.input == ProcessSpec::Input::kPipe ? input.reading.get() : nothing.get();
  id_ = ::fork();
  if (id_ == 0) {
    become(spec, const_cast<char**>(arguments.data()), const_cast<char**>(environment.data()), from,
           output.writing.get(), errors.writing.get());
  }
  if (id_ < 0) {
    throw IoError("DDL-3-17",
                  fmt::format("Cannot start {}: {}.", words.front(), std::strerror(errno)));
  }
  if (spec.is_group) ::setpgid(id_, id_);  // whichever of the two is first
  end_ = File(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
  input_ = std::move(input.writing);
  if (spec.input != ProcessSpec::Input::kPipe) input_.close();
  output_ = std::move(output.reading);
  errors_ = std::move(errors.reading);
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      status_(other.status_),
      ended_(other.ended_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      end_(std::move(other.end_)) {}

Process::~Process() {
  if (id_ < 0) return;
  signal_group(SIGKILL);
  if (!ended_) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
}

bool Process::has_ended() {
  if (!ended_ && ::waitpid(id_, &status_, WNOHANG) == id_) ended_ = true;
  return ended_;
}

bool Process::was_killed() const { return WIFSIGNALED(status_); }

int Process::exit_code() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string Process::how_it_ended() const {
  return describe_end(WEXITSTATUS(status_), WIFSIGNALED(status_) ? WTERMSIG(status_) : 0);
}

void Process::signal_group(int signal) const {
  if (::kill(-id_, signal) != 0 && !ended_) ::kill(id_, signal);
}

Outcome run(const ProcessSpec& spec, double seconds) {
  Outcome outcome;
  Process process(spec);
  const Stopwatch watch;
  std::array<char, 4096> piece{};
  while (process.output().is_open() || process.errors().is_open() || !process.has_ended()) {
    const double left = seconds - watch.seconds();
    if (left <= 0) {
      outcome.timed_out = true;
      return outcome;
    }
    std::array<pollfd, 3> files = {{{process.output().get(), POLLIN, 0},
                                    {process.errors().get(), POLLIN, 0},
                                    {process.end_file(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), static_cast<int>(left * 1000) + 1);
    for (std::size_t i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      const auto bytes = ::read(files[i].fd, piece.data(), piece.size());
      std::string& text = i == 0 ? outcome.output : outcome.errors;
      if (bytes > 0) {
        text.append(piece.data(), static_cast<std::size_t>(bytes));
      } else {
        (i == 0 ? process.output() : process.errors()).close();
      }
    }
    // A grandchild that keeps the pipes open is nobody to wait for.
    if (process.has_ended() && files[0].revents == 0 && files[1].revents == 0) break;
  }
  outcome.exit_code = process.exit_code();
  return outcome;
}

std::string describe_end(int exit_code, int signal) {
  if (signal == 0) return fmt::format("ended with exit code {}", exit_code);
  return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace tutti::launch
